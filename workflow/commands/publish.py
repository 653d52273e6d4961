"""Pack this run's results into one archive, with which others can compare theirs.

    svmrepro publish --scale smoke platt1998
    svmrepro compare platt1998 svmrepro-smoke-platt1998.zip --scale smoke

The archive is an RO-Crate: measurements (CSV, Parquet), tables, figures, verdicts, machine. `compare` takes
it as a file or a URL. Nothing is measured here.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="default: all that were measured")
    parser.add_argument("--scale", default="default", help="scale of the run (default)")
    parser.add_argument("--results", help="folder of the results, if it is not `results`")
    parser.add_argument("--figures", help="folder of the figures, if it is not the run's own")
    parser.add_argument(
        "-o", "--output", type=Path, help="the archive (svmrepro-SCALE.zip, or svmrepro-SCALE-PAPER.zip)"
    )


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from svmrepro.workflow import archives
    from svmrepro.workflow.configuration import as_called, callers_folder, load_config, paths, scale_option
    from svmrepro.workflow.errors import StepError
    from svmrepro.workflow.joining.publishing import config_of_run, files_of
    from svmrepro.workflow.number_text import plural

    settings = {
        "--scale": {"scale": given.scale},
        "--results": {"results_dir": given.results},
        "--figures": {"figures_dir": given.figures},
    }
    layers = [(origin, layer) for origin, layer in settings.items() if any(layer.values())]
    project = load_config(layers)
    name = Path(f"{'-'.join(['svmrepro', given.scale, *given.papers])}.zip")
    target = callers_folder.output_path(given.output or name)
    if not target.parent.is_dir():
        raise StepError(f"--output: {target.parent} is not a folder; name an existing one")
    if target.exists() and not archives.is_archive(target):
        raise StepError(f"--output: {target} exists and is not an archive of a run; name another file")
    config = config_of_run(project, given.papers)
    if given.figures:
        config = replace(config, figures_dir=project.figures_dir)
    whole = [paper for paper in config.papers if paths.measurements(config, paper).is_file()]
    if lacking := [paper for paper in config.papers if paper not in whole and (given.papers or not whole)]:
        command = as_called(f"`./run {lacking[0]}{scale_option(given.scale)}`")
        where = f"{lacking[0]} is not complete in {paths.results(config)}"
        raise StepError(f"nothing to publish: {where}; {command} completes it")
    files = files_of(config)
    archives.pack(files, target)
    size = target.stat().st_size / 1e6
    named = "" if {*whole} == {*project.papers} else "".join(f" {paper}" for paper in whole)
    command = as_called(f"`./run compare{named}{scale_option(given.scale)} {target}`")
    print(f"{target}: {plural(len(files), 'file')}, {size:.1f} MB; compare with it by {command}")
    return 0
