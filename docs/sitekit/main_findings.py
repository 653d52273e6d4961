"""The three main findings on a paper: the first of its headlines in docs/verdicts.md, a sentence each."""

from __future__ import annotations

import re

from sitekit.site_links import TextError, Texts

#: How many findings are shown.
COUNT = 3

_ROW = re.compile(
    r"^\| (?P<claim>[^|]+) \(`[\w.-]+`\) \| [^|]+ \| (?P<verdict>[^|]+) \| (?P<measured>[^|]+) \|$",
    re.MULTILINE,
)


def main_findings(texts: Texts, paper: str) -> str:
    """Return the findings on a paper as a list; a paper with fewer headlines there is a TextError."""
    file = texts.root / "docs" / "verdicts.md"
    texts.read.add(file)
    sections = file.read_text(encoding="utf-8").split("\n## ")[1:]
    (section,) = [part for part in sections if part.partition("\n")[0].lower().replace(" ", "") == paper] or [
        ""
    ]
    rows = list(_ROW.finditer(section))
    if len(rows) < COUNT:
        raise TextError(f"docs/verdicts.md has {len(rows)} headlines of {paper}, not {COUNT}")
    return "\n".join(
        f"- *{row['verdict'].capitalize()}*: {row['claim']}; {row['measured']}." for row in rows[:COUNT]
    )
