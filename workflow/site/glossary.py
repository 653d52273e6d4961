"""The words of the site, from the tables of ``glossary.md``, a link to the page of ``docs/``."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Subject:
    """Words of one subject: each word and its meaning, as HTML."""

    title: str
    words: list[tuple[str, str]] = field(default_factory=list)


def read_glossary(file: Path | None = None) -> list[Subject]:
    """Return the subjects of a glossary in Markdown, one per section; None for the project's own."""
    subjects: list[Subject] = []
    for line in (file or Path(__file__).with_name("glossary.md")).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            subjects.append(Subject(line[3:]))
        elif (row := re.fullmatch(r"\| (.+) \| (.+) \|", line)) and row[1] != "term" and row[1][:3] != "---":
            subjects[-1].words.append((_inline(row[1]), _inline(row[2])))
    return subjects


def _inline(text: str) -> str:
    """Return a line of Markdown as HTML; links between pages of the documentation become plain words."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", html.escape(text, quote=False))
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)
