"""What is done in another way than in a paper, as a list."""

from __future__ import annotations

import csv

from sitekit.texts import TextError, Texts


def deviation_list(texts: Texts, paper: str) -> str:
    """Return the deviations that a paper's table of the default scale declares, an item each."""
    file = texts.root / "results" / "reference" / "default" / paper / "deviations.csv"
    if not file.is_file():
        raise TextError(f"there is no {file.relative_to(texts.root)}")
    texts.read.add(file)
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return "\n".join(
        f"- *{row['where']}*: the paper: {row['paper']}; here: {row['here']}, because {row['because']}."
        for row in rows
    )
