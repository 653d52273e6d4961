"""
YAML that people or strangers wrote, read as plain data and nothing else.

PyYAML's safe loader runs no code, but it can be made to take for ever: a few lines of anchors stand for
billions of values, and whoever walks over them never comes back. It also fails with errors of Python's own
on numbers that no program here could use. Both end as an error of YAML here, which knows its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from svmrepro.workflow.errors import StepError, one_line
from yaml.constructor import ConstructorError

#: Values that a file may stand for once its anchors are followed; the largest here has some two thousand.
MOST_VALUES = 100_000
#: Mappings and lists within each other.
DEEPEST = 40

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class Loader(_BASE):  # type: ignore[misc]
    """PyYAML's safe loader, but a key given twice is an error, not a silent loss, and dates are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012  PyYAML's own way to say it
        first: [(tag, form) for tag, form in forms if tag != _TIMESTAMP]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Make a mapping, each of whose keys is there once."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # what it brings may be given anew
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int):
                if key in seen:
                    raise ConstructorError(None, None, f"key {key!r} is given twice", key_node.start_mark)
                seen.add(key)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """Make a number; one that Python does not read is an error of the file."""
        kind = node.tag.rpartition(":")[2]
        try:
            return getattr(self, f"construct_yaml_{kind}")(node)  # type: ignore[no-any-return]
        except ValueError as error:
            what = f"{node.value[:40]!r} is no number that can be read"
            raise ConstructorError(None, None, what, node.start_mark) from error


for _kind in ("int", "float"):
    Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", Loader.construct_number)


def read_yaml(path: Path) -> dict[str, Any]:
    """
    Read a file that holds a mapping.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    dict
        Its content; an empty file gives an empty mapping.

    Raises
    ------
    StepError
        If it is missing, is no YAML, holds tags, gives a key twice, stands for too much, or is no mapping:
        file and line in one line.
    """
    try:
        content = load_plain(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StepError(f"{path}: {one_line(error)}") from error
    except UnicodeDecodeError as error:
        raise StepError(f"{path}: is not UTF-8 text") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise StepError(f"{path}{line}: {error.problem or one_line(error)}") from error
    except yaml.YAMLError as error:
        raise StepError(f"{path}: {one_line(error)}") from error
    if not isinstance(content, dict | None):
        raise StepError(f"{path}: must hold a mapping of keys")
    return content or {}


def load_plain(text: str) -> Any:
    """
    Read a document.

    Parameters
    ----------
    text
        YAML.

    Returns
    -------
    object
        Mappings, lists, texts, numbers, booleans and None; None for an empty document.

    Raises
    ------
    yaml.YAMLError
        If it is no YAML, holds tags, gives a key twice, nests deeper than :data:`DEEPEST` or stands for more
        than :data:`MOST_VALUES` values.
    """
    _measure(text)
    return yaml.load(text, Loader=Loader)


def _measure(text: str) -> None:
    """Refuse what would take for ever, from the events alone: nothing is built yet."""
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
    if event.tag is not None and event.tag != "!":  # that one only says: a text
        shown = event.tag.replace("tag:yaml.org,2002:", "!!")[:60]
        raise ConstructorError(
            None, None, f"holds a tag ({shown}): only plain data are read", event.start_mark
        )


@lru_cache(4096)
def word(text: str) -> Any:
    """
    Return what YAML makes of a plain word: a number, a boolean, None, or the text itself.

    Parameters
    ----------
    text
        A setting of the command line.
    """
    try:
        value = load_plain(text)
    except yaml.YAMLError:
        return text
    return value if value is None or isinstance(value, bool | int | float) else text


def plain(value: Any) -> Any:
    """
    Return settings of the command line with their texts read as YAML reads a plain word.

    Snakemake leaves ``true`` and every number inside ``{...}`` or ``[...]`` as text, and reads files of
    ``--configfile`` itself: what their anchors stand for is not known to be little.

    Raises
    ------
    ValueError
        If there is more of it, or deeper, than a file may hold.
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
        return word(value) if isinstance(value, str) else value

    return read(value, 0)
