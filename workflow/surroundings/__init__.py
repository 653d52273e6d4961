"""Resources of a run, and surroundings that may disturb its seconds.

machine          description of the machine; libraries limited to one thread
processor_state  state of the processor and limits, recorded with each run as ``noise``; pinning
meter            peak memory of a run, other load meanwhile
instructions     counts of instructions by perf
flagged_runs     whether other load makes a run's seconds doubtful († is set in `tables.layout.size_rows`)
"""
