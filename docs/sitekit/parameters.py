"""The table of the configuration's keys in config/README.md, made from the schema and the default values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from svmrepro.workflow.configuration.settings import Settings

CONFIG = Path(__file__).resolve().parents[2] / "config"
BEGIN, END = "<!-- made by docs/sitekit/parameters.py -->\n", "<!-- end -->\n"


def table() -> str:
    """Return the table: key, type, default, meaning."""
    meanings = yaml.safe_load((CONFIG / "keys.yaml").read_text(encoding="utf-8"))["config"]
    defaults = yaml.safe_load((CONFIG / "config.yaml").read_text(encoding="utf-8"))
    _, schemas = msgspec.json.schema_components([Settings])
    types = schemas[Settings.__name__]["properties"]
    rows = [
        f"| `{key}` | {_type(types[key])} | {_value(defaults, key)} | {' '.join(text.split())} |"
        for key, text in meanings.items()
    ]
    return "\n".join(["| key | type | default | meaning |", "| --- | --- | --- | --- |", *rows]) + "\n"


_TYPES = {"string": "text", "boolean": "true, false", "array": "list", "object": "mapping"}


def _type(schema: Mapping[str, Any]) -> str:
    """Describe a type of JSON schema in a few words."""
    if "anyOf" in schema:
        # An integer may stand for a number everywhere.
        words = dict.fromkeys(_type(each) for each in schema["anyOf"])
        if any(word.startswith("number") for word in words):
            words = {word: None for word in words if not word.startswith("integer")}
        return ", ".join(words)
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    name = _TYPES.get(schema["type"], schema["type"])
    if "minimum" in schema:
        name += f" from {schema['minimum']}"
    return name + (f" above {schema['exclusiveMinimum']}" if "exclusiveMinimum" in schema else "")


def _value(defaults: dict[str, object], key: str) -> str:
    if key not in defaults:
        return ""
    text = json.dumps(defaults[key])
    return f"`{text}`" if len(text) < 100 else "see config.yaml"


def page(text: str) -> str:
    """Return the page with today's table."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"
