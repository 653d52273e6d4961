"""Passes over the active set, divided among several threads; an option of `smo-newton`.

team            what the threads share, and how a pass is cut into parts
divided_passes  the passes of an iteration, on one thread or on several
helpers         the helper threads of a run, and how many there are
"""
