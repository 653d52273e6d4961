"""The table of data sets, made from the registry."""

from __future__ import annotations

from urllib.parse import urlsplit

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
        rows = "any n" if isinstance(entry, datasets.GeneratedEntry) else f"{entry.rows:,}"
        shape = f"{rows} x {entry.features:,}" + (", binary" if entry.binary else "")
        lines.append(f"| `{name}` | {shape} | {entry.title} | {_source(entry)} |")
    return "\n".join(lines)


def _source(entry: datasets.DownloadedEntry | datasets.GeneratedEntry) -> str:
    """Say how the set is obtained: generated, downloaded from which host, or by hand."""
    if isinstance(entry, datasets.GeneratedEntry):
        return "generated"
    urls = [source.url for file in entry.files.values() for source in file.sources]
    return f"downloaded from {urlsplit(urls[0]).hostname}" if urls else "by hand or from a mirror"
