"""Measuring: one contender on one problem at a time.

contender_run  one run: clock, meter, certificate
flags          whether other load makes a run's seconds doubtful
journal_line   the record of a run, one line of JSON
journal        these lines on disk, written as they are made
machine        what a run was made on
data_sets      the arrays of a problem
progress       what a person sees meanwhile
forecast       what is left, and for how long
"""
