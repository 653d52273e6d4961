"""Figures: one module a kind, listed with their protocol in `svmrepro.workflow.configuration.artefact_kinds`.

style         how every figure looks
loglog        time against size
curves        a quantity against a parameter
exponents     exponents with intervals
working_sets  several working sets
step_path     planning ahead on three examples
step_lengths  histograms of step lengths
settings      what each setting buys
"""
