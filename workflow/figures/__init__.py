"""The builders of figures; `svmrepro.workflow.configuration.artefact_kinds` says which makes which kind.

style                looks: colours, markers and lines of the contenders (also on the site), sizes, fonts
axes                 logarithmic axes, labels of panels, arrows at the limits
drawn_data           the numbers that a figure draws, as JSON
loglog               time against size
curves               a quantity against a parameter
exponents            exponents with intervals
working_sets         several working sets
variant_ratios       variants of a solver relative to a baseline, over permutations
step_path            planning ahead on three examples
step_lengths         histograms of step lengths
grid                 warm and cold starts over a grid
settings             effect of each setting
seconds_ratios       solvers relative to one of them
performance_profile  performance profiles
seconds_objectives   seconds against size, and the objective against time: a figure of ``svmrepro bench``
"""
