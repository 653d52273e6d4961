"""Hide repetitive Snakemake output on the terminal; Snakemake's log file keeps everything."""

from __future__ import annotations

import logging

#: Prefixes of lines that repeat for every job and add nothing to the count of finished steps.
_CHATTER = (
    "Select jobs to execute",
    "Execute ",
    "Finished jobid",
    "Assuming unrestricted shared",
    "Using shell",
)


def spare_terminal() -> None:
    """Filter these lines from Snakemake's terminal handler, if it has the expected name."""
    for handler in logging.getLogger("snakemake.logging").handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(_tells_something)


def _tells_something(record: logging.LogRecord) -> bool:
    # Finished jobs are reported as an event without a message text.
    event = getattr(getattr(record, "event", None), "name", "")
    return event != "JOB_FINISHED" and not record.getMessage().startswith(_CHATTER)
