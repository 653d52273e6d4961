"""Snakemake's interface for loggers: hands every record to RunProgress.

Imported only when a run starts, because it loads parts of Snakemake.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import ClassVar

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

NAME = "svmrepro"


class LogHandler(LogHandlerBase):
    """A logger that prints nothing itself."""

    handle_record: ClassVar[Callable[[logging.LogRecord], None]]

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on a record."""
        type(self).handle_record(record)

    # What Snakemake asks: it stands in for the terminal's logger, and gets every record unfiltered.
    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False


def install(handle: Callable[[logging.LogRecord], None]) -> str:
    """Register the logger with Snakemake; return the name under which it is chosen."""
    LogHandler.handle_record = staticmethod(handle)
    LoggerPluginRegistry().register_plugin(f"snakemake_logger_plugin_{NAME}", sys.modules[__name__])
    return NAME
