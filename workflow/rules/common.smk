# What the rules share.


def step(name):
    """Return the parameter with the beginning of a step's command line.

    It holds the paths of Python and of the configuration. A parameter that is derived from the number of
    threads is not recorded, so another setting or environment makes no job out of date; other parameters hold
    fingerprints of what matters.
    """
    return lambda wildcards, threads: PLAN.steps[name]
