"""The three main findings on a paper: the first of its headlines in docs/verdicts.md, a sentence each."""

from __future__ import annotations

import re

from sitekit.site_links import TextError, Texts

#: How many findings are shown.
COUNT = 3

_ROW = re.compile(
    r"^\| (?P<paper>\w+ \d{4}) \| (?P<claim>[^|]+) \(`[\w.-]+`\) \| [^|]+ \| (?P<verdict>[^|]+) "
    r"\| (?P<measured>[^|]+) \| [^|]+ \|$",
    re.MULTILINE,
)


def main_findings(texts: Texts, paper: str) -> str:
    """Return the findings on a paper as a list; a paper with fewer headlines there is a TextError."""
    file = texts.root / "docs" / "verdicts.md"
    texts.read.add(file)
    rows = [
        row
        for row in _ROW.finditer(file.read_text(encoding="utf-8"))
        if row["paper"].lower().replace(" ", "") == paper
    ]
    if len(rows) < COUNT:
        raise TextError(f"docs/verdicts.md has {len(rows)} headlines of {paper}, not {COUNT}")
    return "\n".join(
        f"- *{row['verdict'].capitalize()}*: {row['claim']}; {row['measured']}." for row in rows[:COUNT]
    )
