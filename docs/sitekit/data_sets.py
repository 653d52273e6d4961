"""The table of data sets, made from the registry."""

from __future__ import annotations

from svmrepro import datasets

from sitekit.texts import Texts


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
