"""Measuring: runs of one contender on one problem at a time.

contender_run  one run: clock, meter, certificate
grid_run       one run over a grid of C and gamma
_flags         whether other load makes a run's seconds doubtful
journal_line   the record of a run, one line of JSON
journal        the file of these lines, written as they are made
machine        description of the machine, and other load on it
data_sets      the arrays of a problem
progress       progress messages
forecast       remaining runs and time
"""
