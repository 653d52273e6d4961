"""
The papers' experiments, from data to verdicts.

    snakemake --cores all                        every table and figure of the configuration's papers
    snakemake --cores all --config scale=smoke   the same at another scale (smoke, paper)
    snakemake --cores all platt1998              one paper; likewise an experiment (adult-linear), an artefact
                                                 (scaling) or a file (results/default/platt1998/scaling.md)
    snakemake --cores all check                  the verdicts on the claims, compared with the reference run
    snakemake --cores all compare --config against=<folder>
                                                 compare with another run's results, or with a reference
    snakemake --cores all report                 one HTML file with everything
    snakemake fetch                              retry the data that were unavailable
"""

import gc
import sys
import tempfile
from pathlib import Path

from svmrepro.workflow.configuration import paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan, makes_files, one_of
from svmrepro.workflow.measurement.data_sets import attempt
from svmrepro.workflow.graph.snakemake_output import spare_terminal
from svmrepro.workflow.steps.closing import closing

# Thousands of jobs are millions of objects, and nearly all live to the end. Scanning them for garbage again
# and again costs more time than the memory is worth (some 600 MB for 20,000 jobs).
gc.disable()

try:
    PLAN = Plan.current or Plan(config, Path(workflow.basedir) / "config")
    PLAN.workflow = workflow
    # Lock before Snakemake looks at existing files, as a command of svmrepro has done by now. A job's own Snakemake process belongs to a run that holds
    # the lock.
    if Plan.current is None and workflow.is_main_process and makes_files(sys.argv[1:]):
        PLAN.alone()
except StepError as error:
    sys.exit(f"error: {error}")
except KeyboardInterrupt:
    sys.exit(130)

spare_terminal()
CONFIG = PLAN.config
STEPS = PLAN.steps
RESULTS = f"{CONFIG.results_dir}/{CONFIG.scale}"


wildcard_constraints:
    paper=one_of(CONFIG.papers),
    experiment="[^/]+",
    job="[^/]+",


rule all:
    default_target: True
    input:
        [PLAN.paper_files(paper) for paper in CONFIG.papers],
    localrule: True


# Findings of `snakemake --lint` that are intended:
# - no conda environment or container: all rules share .venv, which ./run makes from requirements.lock.
# - STEPS, PLAN and workflow in shell commands: they hold the paths of Python and of the configuration. As params,
#   any changed setting would make every job out of date. The params hold fingerprints of what matters.
# - no log for fetch, check, reference and compare: they print their answer on the terminal.
include: "workflow/rules/data.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/artefacts.smk"
include: "workflow/rules/targets.smk"


report: PLAN.report_text


onstart:
    PLAN.on_start()


# A command of svmrepro says more itself.
onsuccess:
    if Plan.current is None:
        print(closing(CONFIG))
