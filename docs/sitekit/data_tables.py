"""Tables about data: the sets, the columns of the measurements, the reference runs' files and machines."""

from __future__ import annotations

import html

import pandas as pd
import pyarrow.parquet as pq
from svmrepro import datasets
from svmrepro.workflow.result_files.measurement_columns import FIELDS

from sitekit.site_links import TextError, Texts


def data_set_table(texts: Texts) -> str:
    """Return one line per data set: its name, shape, content and source."""
    texts.read.add(texts.root / "datasets" / "registry" / "registry.yaml")
    lines = ["| name | rows x features | content | source |", "| --- | --- | --- | --- |"]
    for name in datasets.names():
        entry = datasets.describe(name)
        if isinstance(entry, datasets.UserEntry):
            continue
        if isinstance(entry, datasets.GeneratedEntry):
            rows, source = "any n", "generated"
        else:
            downloaded = any(file.sources for file in entry.files.values())
            rows, source = f"{entry.rows:,}", "downloaded" if downloaded else "by hand or from a mirror"
        shape = f"{rows} x {entry.features:,}" + (", binary" if entry.binary else "")
        lines.append(f"| `{name}` | {shape} | {entry.title} | {source} |")
    return "\n".join(lines)


def column_table() -> str:
    """Return the table of columns with their types, units and meanings."""
    rows = [
        f"| `{name}` | {field.type or '–'} | {field.unit or '–'} | {html.escape(field.meaning)} |"
        for name, field in FIELDS.items()
    ]
    return "\n".join(["| column | type | unit | meaning |", "| --- | --- | --- | --- |", *rows])


def scales_table(texts: Texts) -> str:
    """Return the table of the files: scale, paper, rows, size."""
    folder = texts.root / "results" / "reference"
    rows = []
    for path in sorted(folder.glob("*/*/measurements.parquet")):
        texts.read.add(path)
        scale, paper = path.parts[-3:-1]
        file = f"[{path.name}]({texts.path(path)})"
        kilobytes = round(path.stat().st_size / 1000)
        rows.append(f"| {scale} | {paper} | {file} | {pq.read_metadata(path).num_rows:,} | {kilobytes:,} |")
    if not rows:
        raise TextError("results/reference has no measurements")
    return "\n".join(["| scale | paper | file | rows | kB |", "| --- | --- | --- | --: | --: |", *rows])


def machines_table(texts: Texts) -> str:
    """Return one line per paper of the paper scale and processor: experiments, dates, limits, repeats."""
    lines = [
        "| paper | experiments | processor (family-model-stepping) | measured | limit of a run | repeats |",
        "| --- | --- | --- | --- | --: | --: |",
    ]
    columns = ["status", "experiment", "time", "time_limit", "repeat", "machine.cpu", "machine.cpu_id"]
    for path in sorted((texts.root / "results" / "reference" / "paper").glob("*/measurements.parquet")):
        texts.read.add(path)
        runs = pd.read_parquet(path, columns=columns).query("status != 'not_run'")
        parts = list(runs.groupby(["machine.cpu", "machine.cpu_id"]))
        parts.sort(key=lambda part: part[1].experiment.nunique())
        for (cpu, model), own in parts:
            names = sorted(own.experiment.unique())
            what = ", ".join(names)
            if own is parts[-1][1]:  # the largest part, whose names would fill the table
                what = "all" if len(parts) == 1 else f"the other {len(names)}"
            days = pd.to_datetime(own.time)
            first, last = (f"{day.day} {day:%B %Y}" for day in (days.min(), days.max()))
            limits = " or ".join(f"{limit:,.0f}" for limit in sorted(own.time_limit.dropna().unique()))
            measured = first if first == last else f"{first} to {last}"
            processor = f"{cpu} ({model.rpartition('-')[0]})"
            lines.append(
                f"| {path.parent.name} | {what} | {processor} | {measured} "
                f"| {limits} s | {own.repeat.max() + 1} |"
            )
    return "\n".join(lines)
