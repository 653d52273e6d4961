"""Measuring: runs of one contender on one problem at a time.

contender_run    one run: status and reason, certificate, record; its clock is in `svmrepro.solvers.driver`
grid_run         one run over a grid of C and gamma, with a clock of its own
judge_matrices   kernel matrices that the certificates of several runs share
flagged_runs     whether other load makes a run's seconds doubtful (shown as †)
present_run      the call of a solver under way, for `supervision`
supervision      ends a solver that does not stop, and goes on after one that ends its process
processor_state  state of the processor and limits, recorded with each run; pinning
instructions     counts of instructions by perf
journal_line     the record of a run, one line of JSON
journal          the file of these lines, written as they are made
open_runs        which runs are already done and which are still to be made
machine          description of the machine, and its threads
meter            what a run takes: peak memory, other load meanwhile
data_sets        the arrays of a problem
job_progress     what a job says about its runs, on a terminal and in its log
channel          hands these messages to the command that started the job
own_solvers      what the user's own solvers did not solve, and whether they failed
forecast         the remaining timed runs and their time; `running.run_cost` adds the other steps
"""
