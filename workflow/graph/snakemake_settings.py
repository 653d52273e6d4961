"""What Snakemake was told: whether a command runs jobs, and which file a setting comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration.model import COMMAND_LINE, Layer
from svmrepro.workflow.configuration.plain_yaml import apart

#: Snakemake options that only print or inspect something and run no jobs.
_TELLING = re.compile(
    "archive|cleanup_metadata|containerize|d3dag|dag|detailed_summary|dryrun|filegraph|generate_unit_tests"
    "|lint|list_.*|print_compilation|report|rulegraph|summary|unlock"
)


def makes_files(arguments: Sequence[str]) -> bool:
    """Tell whether a Snakemake command, given by arguments that Snakemake has accepted, runs jobs.

    A dry run, a listing, a graph or a report alone does not.
    """
    from snakemake.cli import get_argument_parser

    parsed, _ = get_argument_parser().parse_known_args(list(arguments))
    given = vars(parsed)
    if given["report_after_run"]:
        del given["report"]
    return not any(value and _TELLING.fullmatch(name) for name, value in given.items())


def layers_of(settings: Mapping[str, Any], files: Iterable[str]) -> list[Layer]:
    """Separate the files whose settings Snakemake has merged, so that messages name a value's file."""
    from snakemake.common.configfile import load_configfile

    layers: list[Layer] = []
    for file in reversed(list(files)):
        same, settings = apart(settings, load_configfile(file))
        layers.insert(0, (os.path.relpath(file), same))
    return [*layers, (COMMAND_LINE, settings)]


def config_beside(base: Path) -> Path | None:
    """Return the folder ``config/`` for a Snakefile in the given folder; None for the project's own.

    It lies beside the Snakefile, or beside the Snakefile's folder ``workflow``, also where snakedeploy has
    copied it.
    """
    places = (base / "config", base.parent / "config")
    return next((place for place in places if (place / "experiments").is_dir()), None)
