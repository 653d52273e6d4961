"""Passes over the active set, divided among several threads.

team     what the threads share, and how a pass is divided
passes   the three passes of an iteration, on one thread or on several
helpers  the helper threads of a run
"""
