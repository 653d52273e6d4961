"""The table of the configuration's keys in config/README.md, made from the schema and the default values."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

CONFIG = Path(__file__).resolve().parents[2] / "config"
BEGIN, END = "<!-- made by docs/sitekit/parameters.py -->\n", "<!-- end -->\n"


def table() -> str:
    """Return the table: key, default, meaning."""
    meanings = yaml.safe_load((CONFIG / "keys.yaml").read_text(encoding="utf-8"))["config"]
    defaults = yaml.safe_load((CONFIG / "config.yaml").read_text(encoding="utf-8"))
    rows = [
        f"| `{key}` | {_value(defaults, key)} | {' '.join(text.split())} |" for key, text in meanings.items()
    ]
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]) + "\n"


def _value(defaults: dict[str, object], key: str) -> str:
    if key not in defaults:
        return ""
    text = json.dumps(defaults[key])
    return f"`{text}`" if len(text) < 100 else "see config.yaml"


def page(text: str) -> str:
    """Return the page with today's table."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"
