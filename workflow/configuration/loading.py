"""Loading the configuration: its files are merged and checked, once for a command.

The modules that do the work load data sets and solvers, which takes a second, so they are imported on first
use. Steps read the result instead, by `read_config` of `model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration.model import COMMAND_LINE, Config, Layer, config_dir


def load_config(
    overrides: Mapping[str, Any] | Sequence[Layer] | None = None,
    folder: Path | None = None,
) -> Config:
    """Read, merge and check the configuration: data sets, solvers, options, kernels and sizes exist.

    Parameters
    ----------
    overrides
        Command-line settings, nested as in the files; ``scale`` selects the scale's file. Or several layers
        of settings, each with the name of its source for messages; later ones override earlier ones.
    folder
        The folder ``config/``; None for the project's own.

    Returns
    -------
    Config
        The complete configuration.

    Raises
    ------
    StepError
        For the first error: file, key and what is wrong, in one line.
    """
    from svmrepro.workflow.configuration._resolve import load

    return load(_layers(overrides or {}), folder or config_dir())


def merged(overrides: Mapping[str, Any] | Sequence[Layer]) -> dict[str, Any]:
    """Merge the layers of command-line settings; see :func:`load_config`."""
    from svmrepro.workflow.configuration._layers import Layers
    from svmrepro.workflow.configuration.plain_yaml import plain

    layers = Layers()
    for origin, layer in _layers(overrides):
        # What becomes of it is read as a file, of which no words are parsed.
        layers.add(plain(layer) if origin == COMMAND_LINE else layer, origin)
    return layers.content


def _layers(overrides: Mapping[str, Any] | Sequence[Layer]) -> Sequence[Layer]:
    return [(COMMAND_LINE, overrides)] if isinstance(overrides, Mapping) else overrides
