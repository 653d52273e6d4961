"""Passes over the active set, divided among several threads; the option ``threads`` of `smo-newton`.

`second_order.SecondOrderRun` reads it and makes the `Helpers`. Linear solvers: `passes.row_threads`.

team            what the threads share, and how a pass is cut into parts
divided_passes  the passes of an iteration, on one thread or on several
helpers         the helper threads of a run, and how many there are
"""
