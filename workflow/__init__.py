"""The steps of the workflow, each run as ``python -m svmrepro.workflow.<step>``."""
