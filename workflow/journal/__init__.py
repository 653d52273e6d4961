"""The records of runs, written as they are made.

journal_line  the record of a run, one line of JSON
journal_file  the file of these lines
open_runs     which runs are already done and which are still to be made
own_solvers   what the user's own solvers did not solve, and whether they failed
"""
