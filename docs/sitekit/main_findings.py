"""The three main findings on a paper: headlines of docs/verdicts.md, each in a sentence."""

from __future__ import annotations

import json
import re

from svmrepro.workflow.judgement.claims import HEADLINE, TOO_SMALL, UNDECIDED, UNMEASURED

from sitekit.numbers import Numbers
from sitekit.site_links import TextError, Texts

#: How many findings are shown.
COUNT = 3
#: Verdicts that leave a sentence open.
OPEN = (UNDECIDED, TOO_SMALL, UNMEASURED)

_ROW = re.compile(
    r"^\| (?P<claim>[^|]+) \(`(?P<id>[\w.-]+)`\) \| [^|]+ \| (?P<verdict>[^|]+) \| (?P<measured>[^|]+) \|$",
    re.MULTILINE,
)
#: Intervals, numbers of pairs, and counts of corrected tests: the tables have them.
_LEFT_TO_TABLES = re.compile(r" \[[^\]]*\]|, one pair|(?<=data sets) \([^()]*\)(?=: )")
#: Parts of what was measured -> the same in words.
_WORDS = (
    (r"^rule met by ", "the rule is met by "),
    (r"^range ", "the numbers range from "),
    (r"^(\d+ of \d+ data sets): ", r"\1, "),
    (r"^worst: ([^:]+): (\S+?)(?=,? |$)", r"the worst is \2 on \1"),
    (r"^such as ([^:]+): (\S+?)(?=,? |$)", r"such as \2 on \1"),
    (r"^([^:]+): (\S+?)(?=,? |$)", r"\2 on \1"),
)


def main_findings(numbers: Numbers, texts: Texts, paper: str) -> str:
    """Return the findings on a paper as a list; a paper with fewer headlines there is a TextError.

    Decided headlines come first, and of these the abstract's. Of headlines about one sentence or one
    quantity, only the first is shown.
    """
    file = texts.root / "docs" / "verdicts.md"
    texts.read.add(file)
    sections = file.read_text(encoding="utf-8").split("\n## ")[1:]
    (section,) = [part for part in sections if part.partition("\n")[0].lower().replace(" ", "") == paper] or [
        ""
    ]
    run = f"{numbers.scale_of(paper)}/{paper}"
    quantities = numbers.quantities(run)
    rows = [(row, numbers.claim(f"{run}/{row['id']}")) for row in _ROW.finditer(section)]
    rows = [each for each in rows if each[1].kind == HEADLINE and each[1].counted == "yes"]
    rows.sort(key=lambda each: (each[1].verdict in OPEN, "abstract" not in each[1]["where"]))
    shown: list[str] = []
    seen: set[str] = set()
    for row, claim in rows:
        about = {claim.quote, json.dumps(quantities[claim.id], sort_keys=True)}
        if not about & seen:
            verdict = f"is *{claim.verdict}*" if claim.verdict in OPEN else f"*{claim.verdict}*"
            shown.append(f"- That {row['claim']} {verdict}: {as_words(row['measured'])}.")
        seen |= about
    if len(shown) < COUNT:
        raise TextError(f"docs/verdicts.md has {len(shown)} different headlines of {paper}, not {COUNT}")
    return "\n".join(shown[:COUNT])


def as_words(measured: str) -> str:
    """Return the number that decides as the end of a sentence."""
    parts = _LEFT_TO_TABLES.sub("", measured).split("; ")
    for place, part in enumerate(parts):
        found = (re.sub(pattern, words, part) for pattern, words in _WORDS)
        parts[place] = next((said for said in found if said != part), part)
    return "; ".join(parts)
