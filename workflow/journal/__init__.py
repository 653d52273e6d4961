"""The records of runs, written as they are made.

journal_line  the record of a run, one line of JSON
journal_file  the file of these lines
missing_runs  which runs of an experiment are still to be made, for `steps.measure`; repeats and their budget
own_solvers   what the user's own solvers did not solve, and whether they failed
"""
