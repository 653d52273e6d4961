"""Measuring: runs of one contender on one problem at a time.

contender_run    one run: status and reason, certificate, record; its clock is in `svmrepro.solvers.driver`
grid_run         one run over a grid of C and gamma, with a clock of its own
judge_matrices   kernel matrices that the certificates of several runs share
present_run      the call of a solver under way, for `supervision`
supervision      ends a solver that does not stop, and continues after one that ends its process
data_sets        the arrays of a problem, or why they are missing
job_progress     what a job says about its runs: to the command, or to the terminal and its log
channel          hands these messages to the command that started the job
forecast         the remaining timed runs and their time; `running.run_cost` adds the other steps
"""
