# What the rules share.


def step(name):
    """Return the parameter with the beginning of a step's command line.

    It holds the paths of Python and of the configuration. Snakemake does not record a parameter that takes
    ``threads``, so a change of these paths makes no job out of date. Fingerprints of what matters are in
    other parameters.
    """
    return lambda wildcards, threads: PLAN.steps[name]
