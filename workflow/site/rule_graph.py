"""The graph of the workflow's rules, as Snakemake gives it, for the page "How it is made".

Rules with one docstring, such as those of all tables, are one step; the words before its colon are the step's
title. ``./run texts`` writes `FILE`, so that a site needs no Snakemake; a test compares it with the rules.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from svmrepro.workflow.errors import StepError

FILE = Path(__file__).parent / "templates" / "rule_graph.json"
TARGETS = ("all", "check", "compare", "reference", "report")

WIDTH, HEIGHT, GAP, RISE = 150, 40, 18, 44
"""Width and height of a box, and the gaps beside and below it."""

_NODE = re.compile(r'^\s*(\d+)\s*\[label = "([^"]+)"', re.MULTILINE)
_EDGE = re.compile(r"^\s*(\d+) -> (\d+)", re.MULTILINE)
_RULE = re.compile(r"^([\w.-]+) \((.+)\)$", re.MULTILINE)


class RuleNode(msgspec.Struct, frozen=True):
    """One rule, or several with one docstring; of several, the rule's name is ""."""

    title: str
    text: str
    rule: str
    uses: tuple[str, ...]


@dataclass(frozen=True)
class Box:
    """A step in the picture, with its upper left corner."""

    step: RuleNode
    x: int
    y: int


@dataclass(frozen=True)
class Drawing:
    """The steps as boxes in rows, each below everything that it uses, and the edges as paths of SVG."""

    width: int
    height: int
    boxes: Sequence[Box]
    paths: Sequence[str]


def from_snakemake(root: Path) -> list[RuleNode]:
    """Ask Snakemake, which starts no job, for the rules of a checkout, in an order in which they can run."""
    texts = dict(_RULE.findall(_snakemake(root, "--list-rules")))
    dot = _snakemake(root, *TARGETS, "--rulegraph", "dot")
    names = dict(_NODE.findall(dot))
    if lacking := sorted({*names.values()} - texts.keys()):
        raise StepError(f"rule {lacking[0]} has no docstring, which the site needs")
    title = {number: texts[name].partition(":")[0] for number, name in names.items()}
    uses: dict[str, set[str]] = {each: set() for each in title.values()}
    for before, after in _EDGE.findall(dot):
        uses[title[after]].add(title[before])
    steps = []
    for each, used in uses.items():
        rules = sorted(names[number] for number, found in title.items() if found == each)
        text = texts[rules[0]].partition(":")[2].strip()
        steps.append(RuleNode(each, text, rules[0] if len(rules) == 1 else "", tuple(sorted(used - {each}))))
    depth = _depths(steps)
    return sorted(steps, key=lambda step: (depth[step.title], step.title))


def as_text(steps: Sequence[RuleNode]) -> str:
    """Return the steps as JSON, one a line."""
    return "[\n" + ",\n".join(msgspec.json.encode(step).decode() for step in steps) + "\n]\n"


def read_graph() -> list[RuleNode]:
    """Return the steps in `FILE`."""
    return msgspec.json.decode(FILE.read_bytes(), type=list[RuleNode])


def drawing(steps: Sequence[RuleNode]) -> Drawing:
    """Place the steps in rows by their depth, each row centred."""
    depth = _depths(steps)
    rows: list[list[RuleNode]] = [[] for _ in range(1 + max(depth.values()))]
    for step in steps:
        rows[depth[step.title]].append(step)
    width = max(map(len, rows)) * (WIDTH + GAP) - GAP
    boxes = {
        step.title: Box(
            step,
            (width - len(row) * (WIDTH + GAP) + GAP) // 2 + place * (WIDTH + GAP),
            level * (HEIGHT + RISE),
        )
        for level, row in enumerate(rows)
        for place, step in enumerate(row)
    }
    paths = []
    for one, other in _direct(steps):
        x, y = boxes[one].x + WIDTH // 2, boxes[one].y + HEIGHT
        to_x, to_y = boxes[other].x + WIDTH // 2, boxes[other].y
        bend = (to_y - y) // 2
        paths.append(f"M{x} {y}C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}")
    return Drawing(width, len(rows) * (HEIGHT + RISE) - RISE, list(boxes.values()), paths)


def _snakemake(root: Path, *words: str) -> str:
    """Return what Snakemake prints, at the smallest scale."""
    settings = ("scale=smoke", "against=results/reference/smoke")  # without `against`, nothing is compared
    command = [sys.executable, "-m", "snakemake", *words, "--config", *settings]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StepError(f"snakemake: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout


def _depths(steps: Sequence[RuleNode]) -> dict[str, int]:
    """Return the length of the longest path that leads to each step."""
    depth = {step.title: 0 for step in steps}
    for _ in range(len(depth) + 1):
        before = dict(depth)
        for step in steps:
            depth[step.title] = max((1 + depth[used] for used in step.uses), default=0)
        if depth == before:
            return depth
    raise StepError("steps of the workflow use each other in a circle; give their rules other docstrings")


def _direct(steps: Sequence[RuleNode]) -> list[tuple[str, str]]:
    """Return the edges that no longer path implies."""
    uses = {step.title: step.uses for step in steps}

    def reached(step: str) -> set[str]:
        return {found for used in uses[step] for found in ({used} | reached(used))}

    return [
        (used, step.title)
        for step in steps
        for used in step.uses
        if not any(used in reached(other) for other in step.uses)
    ]
