"""What of Snakemake's own talk a person is spared; its log file keeps everything."""

from __future__ import annotations

import logging

#: Beginnings of lines that are said for every job and tell nothing that the count of finished steps does not.
_CHATTER = (
    "Select jobs to execute",
    "Execute ",
    "Finished jobid",
    "Assuming unrestricted shared",
    "Using shell",
)


def spare_terminal() -> None:
    """Drop the chatter from Snakemake's handler for the terminal, if it has the one known here."""
    for handler in logging.getLogger("snakemake.logging").handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(_tells_something)


def _tells_something(record: logging.LogRecord) -> bool:
    # A finished job is an event without a text of its own.
    event = getattr(getattr(record, "event", None), "name", "")
    return event != "JOB_FINISHED" and not record.getMessage().startswith(_CHATTER)
