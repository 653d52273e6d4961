"""The configuration: read, layered, validated.

model       the records that all steps share
layers      YAML files and command-line settings, merged; each value knows its origin
resolve     from a paper's merged YAML to records
plain_yaml  YAML as plain data
"""
