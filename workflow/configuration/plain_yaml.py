"""Read YAML files, also untrusted ones, as plain data.

PyYAML's safe loader runs no code, but a few lines of nested anchors can stand for billions of values and make
it run forever. It also raises Python errors of its own on absurd numbers. Here both are YAML errors with a
line.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from svmrepro.workflow.errors import StepError, cause, one_line
from yaml.constructor import ConstructorError

#: Maximum number of values in a file with its anchors expanded; the project's largest has some two thousand.
MOST_VALUES = 100_000
#: Maximum nesting depth of mappings and lists.
DEEPEST = 40

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class Loader(_BASE):  # type: ignore[misc]
    """PyYAML's safe loader, except that duplicate keys are errors and dates stay text."""

    yaml_implicit_resolvers = {  # noqa: RUF012  required by PyYAML
        first: [(tag, form) for tag, form in forms if tag != _TIMESTAMP]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Construct a mapping, refusing duplicate keys."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # merged keys may be overridden
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int):
                if key in seen:
                    raise ConstructorError(None, None, f"key {key!r} is given twice", key_node.start_mark)
                seen.add(key)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """Construct a number; one that Python cannot represent is an error of the file."""
        kind = node.tag.rpartition(":")[2]
        try:
            return getattr(self, f"construct_yaml_{kind}")(node)  # type: ignore[no-any-return]
        except ValueError as error:
            what = f"{node.value[:40]!r} is not a readable number"
            raise ConstructorError(None, None, what, node.start_mark) from error


for _kind in ("int", "float"):
    Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", Loader.construct_number)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping; an empty file gives an empty one.

    If the file is missing, is not YAML or not a mapping, has tags or duplicate keys, or is too large, the
    StepError names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = load_plain(text)
    except OSError as error:
        raise StepError(f"{path}: {cause(error)}") from error
    except UnicodeDecodeError as error:
        raise StepError(f"{path}: is not UTF-8 text") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        tab = "\t" in text and "cannot start any token" in (error.problem or "")
        hint = " (a tab? indent with spaces)" if tab else ""
        raise StepError(f"{path}{line}: {error.problem or one_line(error)}{hint}") from error
    except yaml.YAMLError as error:
        raise StepError(f"{path}: {one_line(error)}") from error
    if not isinstance(content, dict | None):
        raise StepError(f"{path}: must hold a mapping of keys")
    return content or {}


def load_plain(text: str) -> Any:
    """Parse a YAML document: mappings, lists, strings, numbers, booleans and None; None for an empty one.

    It is a YAMLError if it is not YAML, has tags or duplicate keys, is nested deeper than :data:`DEEPEST` or
    has more than :data:`MOST_VALUES` values.
    """
    _measure(text)
    return yaml.load(text, Loader=Loader)


def _measure(text: str) -> None:
    """Refuse documents that are too large, from the parser's events, before anything is built."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=_BASE):
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            _refuse_tag(event)
            open_nodes.append((event.anchor, total))
            if len(open_nodes) > DEEPEST:
                raise ConstructorError(None, None, f"nested deeper than {DEEPEST} levels", event.start_mark)
            total += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                raise ConstructorError(None, None, f"*{event.anchor} holds itself", event.start_mark)
            total += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            _refuse_tag(event)
            if event.anchor is not None:
                sizes[event.anchor] = 1
            total += 1
        if total > MOST_VALUES:
            what = f"with its anchors it stands for more than {MOST_VALUES} values"
            raise ConstructorError(None, None, what, event.start_mark)


def _refuse_tag(event: Any) -> None:
    if event.tag is not None and event.tag != "!":  # "!" only marks a string
        shown = event.tag.replace("tag:yaml.org,2002:", "!!")[:60]
        raise ConstructorError(
            None, None, f"holds a tag ({shown}): only plain data are read", event.start_mark
        )


@lru_cache(4096)
def word(text: str) -> Any:
    """Parse a plain YAML scalar of the command line: a number, a boolean, None, or the text itself."""
    try:
        value = load_plain(text)
    except yaml.YAMLError:
        return text
    return value if value is None or isinstance(value, bool | int | float) else text


def plain(value: Any, words: bool = True) -> Any:
    """Return settings as plain data; parse the ``words`` of the command line as YAML scalars.

    There Snakemake leaves ``true`` and numbers inside ``{...}`` or ``[...]`` as text. It also reads
    ``--configfile`` itself, so that anchors in there may still expand to very large data: settings that are
    larger or more deeply nested than a file may be are a ValueError.
    """
    left = MOST_VALUES

    def read(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError(f"holds more than {MOST_VALUES} values")
        if depth > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels")
        if isinstance(value, Mapping):
            return {key: read(entry, depth + 1) for key, entry in value.items()}
        if isinstance(value, list):
            return [read(entry, depth + 1) for entry in value]
        return word(value) if words and isinstance(value, str) else value

    return read(value, 0)


def apart(settings: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that are also in ``content``, and the rest."""
    same: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in settings.items():
        other = content.get(key)
        if key in content and value == other:
            same[key] = value
        elif isinstance(value, Mapping) and isinstance(other, Mapping):
            # An empty rest would count as the origin of the whole mapping.
            for part, found in zip((same, rest), apart(value, other), strict=True):
                if found:
                    part[key] = found
        else:
            rest[key] = value
    return same, rest
