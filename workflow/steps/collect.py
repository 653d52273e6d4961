"""Join the measurements, fits and ratios of a paper's experiments, each into one CSV and one Parquet file.

python -m svmrepro.workflow.steps.collect --config CONFIG --paper PAPER
"""

from __future__ import annotations

from svmrepro.workflow.analysis.tidy import join
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.result_files import sources
from svmrepro.workflow.result_files.parquet import write_parquet
from svmrepro.workflow.steps._command_line import run_step


def run(config: Config, paper: str) -> None:
    """Run the step; see the module docstring."""
    for place in (paths.measurements, paths.fits, paths.ratios):
        joined = join([place(config, paper, name) for name in config.papers[paper].experiments])
        target = place(config, paper)
        atomic_write(target, joined)
        with atomic_path(target.with_suffix(".parquet")) as temporary:
            write_parquet(joined, temporary)
    sources.record(config, paper, config.papers[paper].experiments, paths.measurements(config, paper))


if __name__ == "__main__":
    run_step(run)
