"""Fuzz targets for other people's runs: files that ``compare``, ``check`` and ``site`` read from one.

A damaged folder is either refused in one line that names the file, or every table, figure and verdict made
from it is valid: lines have the right columns, numbers are finite, and no text is markup. A site of it can
be written.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import operator
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from fuzz_inputs import TOKENS, Target, folder, mutated, nested, places
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from svmrepro.workflow.analysis.fits import FIT_COLUMNS, RATIO_COLUMNS
from svmrepro.workflow.comparison import figure, tables
from svmrepro.workflow.comparison.compared_run import ComparedRun, read_run
from svmrepro.workflow.comparison.paired_runs import PairedRuns
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures.style import save, styled
from svmrepro.workflow.judgement.reference_check import compare as compare_records
from svmrepro.workflow.site.pages import Site
from svmrepro.workflow.site.shown_run import read_folder
from svmrepro.workflow.steps import check
from svmrepro.workflow.tables.layout.writers import to_csv, to_html, to_markdown

PAPER = "mini"
PARQUET = f"{PAPER}/measurements.parquet"
MEASUREMENTS, FITS, RATIOS, CLAIMS = (
    f"{PAPER}/{name}.csv" for name in ("measurements", "fits", "ratios", "claims")
)
RUNS, FINDINGS, TABLE = f"{PAPER}/one/runs/all.jsonl", f"{PAPER}/claims.json", f"{PAPER}/times.html"
PICTURE, NUMBERS = (f"figures/{PAPER}/drawn.{suffix}" for suffix in ("svg", "json"))
#: One in this many accepted inputs is also plotted, which takes a hundred times as long as the rest.
DRAWN = 40
#: Columns of tables with text from the other run.
WORDS = ("claim", "measured_there")


def _csv(columns: Any, rows: list[dict[str, Any]]) -> str:
    text: str = pd.DataFrame(rows, columns=list(columns)).to_csv(index=False, lineterminator="\n")
    return text


def _measurement(contender: str, n: int, repeat: int) -> dict[str, Any]:
    return {
        "paper": PAPER, "experiment": "one", "n": n, "contender": contender, "seed": "", "repeat": repeat,
        "point": "", "status": "optimal", "reason": "", "flagged": "false", "cpu_seconds": 1e-3 * n,
        "iterations": 7 * n, "kernel_evaluations": 90 * n, "solver": contender, "storage": "index",
        "bias": "true", "C": 0.5, "eps": 0.001, "run_id": "r", "scale": "smoke",
        "time": "2026-01-02T03:04:05Z", "certificate.dual": -0.25 * n, "certificate.n_bound": 3,
        "certificate.n_nonbound": 4, "certificate.passed": "true", "certificate.promise": "kkt",
        "work.nonzeros": 50 * n, "kernel.name": "linear", "machine.cpu": "A CPU",
        "machine.memory_bytes": 2**33, "machine.versions.numpy": "2.4", "machine.commit": "0123456789ab+",
    }  # fmt: skip


@functools.cache
def good() -> dict[str, str]:
    """Return the files of a valid run by name."""
    labels, sizes = ("smo", "chunking"), (50, 100, 200)
    rows = [_measurement(label, n, repeat) for n in sizes for label in labels for repeat in (0, 1)]
    rows[-1] |= {"status": "time_limit", "certificate.passed": "", "reason": "too slow"}
    fit = {
        "paper": PAPER, "experiment": "one", "source": "measured", "exponent": 1.5, "low": 1.25,
        "high": 1.75, "intercept": -3.5, "points": 3, "n_min": 50, "n_max": 200, "method": "a line",
    }  # fmt: skip
    fits = [{**fit, "contender": label, "quantity": of} for label in labels for of in ("cpu_seconds", "work")]
    ratio = {"paper": PAPER, "experiment": "one", "numerator": labels[1], "denominator": labels[0]}
    ratios = [
        {**ratio, "n": n, "quantity": of, "ratio": 2.5, "low": 2.0, "high": 3.5, "pairs": 2}
        for n in sizes
        for of in ("cpu_seconds", "work")
    ]
    claim = {"measured": "1.5 | 2", "counted": "yes", "on_paper": "not applicable"}
    claims = [
        {"id": name, "verdict": verdict, **claim}
        for name, verdict in (("first", "holds"), ("second", "not decided"), ("third", "does not hold"))
    ]
    return {
        MEASUREMENTS: _csv(rows[0], rows),
        FITS: _csv(FIT_COLUMNS, fits),
        RATIOS: _csv(RATIO_COLUMNS, ratios),
        CLAIMS: _csv(claims[0], claims),
    }


def _written(place: Path, files: dict[str, str]) -> Path:
    (place / PAPER).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@functools.cache
def _here() -> ComparedRun:
    return read_run(_written(folder() / "here", good()), [PAPER])


# -- what must be so of what is made of a folder that was not refused ----------------------------------------

_CELL = re.compile(r"(?<!\\)\|")


def _sound_csv(text: str) -> None:
    header, *rows = csv.reader(io.StringIO(text))
    for row in rows:
        assert len(row) == len(header), row
        for column, cell in zip(header, row, strict=True):
            assert column in WORDS or cell not in ("nan", "inf", "-inf", "None"), row


def _sound_markdown(text: str) -> None:
    widths = {len(_CELL.split(line)) for line in text.split("\n") if line.startswith("| ")}
    assert len(widths) <= 1, widths


def _sound_html(text: str) -> None:
    for tag in ("table", "tr", "td", "span"):
        assert text.count(f"<{tag}>") + text.count(f"<{tag} ") == text.count(f"</{tag}>"), tag
    assert "<script" not in text and "\0" not in text
    text.encode()


def _sound(pair: PairedRuns, draw: bool) -> None:
    for table in (tables.about(pair), tables.summary(pair)):
        _sound_html(to_html(table))
    for build in tables.TABLES.values():
        table = build(pair, pair.here.papers)
        _sound_csv(to_csv(table))
        _sound_markdown(to_markdown(table))
        _sound_html(to_html(table))
    for row in pair.rows:
        for here, there in row.values.values():
            assert all(map(math.isfinite, (*here, *there)))
    if draw:
        with styled():
            save(figure.build(pair, PAPER), folder() / "figure.png", "png")


def _compared(place: Path, name: str, seed: bytes) -> None:
    try:
        there = read_run(place, [PAPER])
    except StepError as error:
        assert str(error).startswith(f"{place / name}:"), "the file is not named"
        raise
    here = _here()
    _sound(PairedRuns(here, there), draw=zlib.crc32(seed) % DRAWN == 0)
    for outcome in (compare_records(there.record, here.record), compare_records(here.record, there.record)):
        said = check._printed_comparison(outcome)
        assert not re.search(r"is -?(nan|inf)\b", said) and outcome.rows <= outcome.of
        said.encode()


def _with_file(name: str, *others: str) -> Callable[[bytes], None]:
    """Return a function that compares a run with the given file and these `others` with the valid run."""

    def run(content: bytes) -> None:
        place = _written(folder() / "there" / name.replace("/", "-"), {key: good()[key] for key in others})
        (place / name).write_bytes(content)
        _compared(place, name, content)

    return run


@functools.cache
def shown() -> dict[str, str]:
    """Return the files of a valid run that the site shows, by name."""
    line = {
        "run_id": "r", "row": "x", "n": 50, "contender": "smo", "point": None, "seed": None, "repeat": 0,
        "status": "optimal", "reason": None, "flagged": True, "flag_reason": "x", "time": "2026-01-02",
        "cpu_seconds": 0.5, "iterations": 7, "kernel_evaluations": 9, "package": None, "load_before": 0.5,
        "certificate": {"passed": True, "dual": 1.5, "gap": 1e-4, "max_violation": 1e-3, "n_bound": 7},
        "machine": {"cpu": "A CPU", "memory_bytes": 2**33, "commit": "0123456789ab+", "versions": {}},
        "noise": {
            "steal": 0.1, "frequency_mhz": 2e3, "throttled_seconds": 0.5, "cgroup_cpus": 2.0, "turbo": True,
            "cgroup_memory_bytes": 2**30, "governor": "x", "instructions": 9,
        },
    }  # fmt: skip
    finding = {"label": "a", "verdict": "holds", "value": 2.0, "low": 1.0, "high": 3.0, "paper": None}
    finding |= {"experiment": "one", "n": 50, "contenders": ["smo"], "reason": "", "single": True}
    panel = {"title": "a", "x": {"label": "n"}, "series": [{"name": "smo", "x": [50], "y": [0.5]}]}
    return {
        RUNS: json.dumps(line),
        FINDINGS: json.dumps({"claims": [{"id": "first", "findings": [finding]}]}),
        NUMBERS: json.dumps({"panels": [panel], "notes": ["a"], "legend": [{"name": "a"}]}),
        TABLE: to_html(tables.about(PairedRuns(_here(), _here()))),
        PICTURE: '<svg xmlns="http://www.w3.org/2000/svg"><g id="a"><path d="M 0 0"/></g></svg>',
        CLAIMS: good()[CLAIMS],
        FITS: good()[FITS].replace(",-3.5,3,", ",-3.5,4,"),  # of enough sizes to be shown
    }


def _site_with(name: str) -> Callable[[bytes], None]:
    """Return a function that writes the site of a run with the given file."""

    def run(content: bytes) -> None:
        place = _written(folder() / "shown" / name.replace("/", "-"), shown())
        (place / name).write_bytes(content + b"\n" * (name == RUNS))
        found = read_folder(place)
        found.config = None  # this project's tells nothing of the paper
        try:
            assert found.papers
        except StepError as error:
            assert name in str(error), "the file is not named"
            raise
        Site([found], folder() / "site").write()

    return run


# -- spoilt tables -------------------------------------------------------------------------------

_texts = st.one_of(
    st.sampled_from([token.decode("latin-1") for token in TOKENS]),
    st.sampled_from(
        ["-1", "0", "1", "1.5", "1e99", "1e-99", "1e300", "5e-324", "1e-310", "0x1p3", "²", "1 000", "true",
         "holds", "does not hold", "optimal", "error", "uncertified", "smo", "chunking", "one", "work",
         "cpu_seconds", "50", "050", "100", "<script>x</script>", "a|b\\|c", "$x^{", "\u2028", "\x1b[31m"]
    ),
    st.text(max_size=10).filter(lambda text: not re.search("[\ud800-\udfff]", text)),
)  # fmt: skip


@st.composite
def _tables(draw: Any, text: str) -> bytes:
    """Draw a table with changed fields, and columns or rows removed, duplicated or swapped."""
    rows = list(csv.reader(io.StringIO(text)))
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(("field", "field", "field", "field", "column", "row", "copy", "swap")))
        row = draw(st.integers(0 if draw(st.booleans()) else 1, len(rows) - 1)) if len(rows) > 1 else 0
        column = draw(st.integers(0, len(rows[0]) - 1)) if rows[0] else 0
        if kind == "field" and column < len(rows[row]):
            rows[row][column] = draw(_texts)
        elif kind == "column" and rows[0]:
            rows = [[*line[:column], *line[column + 1 :]] for line in rows]
        elif kind == "row" and len(rows) > 1:
            del rows[row]
        elif kind == "copy":
            rows.append(list(rows[row]))
        elif kind == "swap" and column:
            for line in rows:
                if column < len(line):
                    line[0], line[column] = line[column], line[0]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


_values = nested(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _texts), st.text("ab", max_size=2)
)


@st.composite
def _changed(draw: Any, text: str) -> bytes:
    """Draw JSON with another value in one place."""
    content = json.loads(text)
    *above, key = draw(st.sampled_from([*places(content)]))
    functools.reduce(operator.getitem, above, content)[key] = draw(_values)
    return json.dumps(content).encode()


def _parquet(text: bytes) -> bytes:
    """Return a table as Parquet; what is no table stays as it is."""
    try:
        table = pd.read_csv(io.BytesIO(text), dtype=str, keep_default_na=False)
        return bytes(table.to_parquet(index=False))
    except ValueError:
        return text


def strangers() -> Iterator[Target]:
    """Yield a target for each file of another run."""
    every = (MEASUREMENTS, FITS, RATIOS, CLAIMS)
    for name in every:
        text = good()[name]
        inputs: SearchStrategy[bytes] = st.one_of(_tables(text), _tables(text), mutated(text.encode()))
        others = [other for other in every if other != name]
        yield Target(f"stranger/{Path(name).name}", inputs, _with_file(name, *others), (StepError,))
    text = good()[MEASUREMENTS]
    files = st.one_of(_tables(text).map(_parquet), mutated(_parquet(text.encode())))
    yield Target(f"stranger/{Path(PARQUET).name}", files, _with_file(PARQUET, FITS, RATIOS), (StepError,))
    for name, text in shown().items():
        changed = {".json": _changed, ".jsonl": _changed, ".csv": _tables}.get(Path(name).suffix)
        spoilt = mutated(text.encode())
        inputs = st.one_of(changed(text), changed(text), spoilt) if changed else spoilt
        yield Target(f"site/{Path(name).name}", inputs, _site_with(name), (StepError,))
