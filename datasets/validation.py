"""Structured input, converted by msgspec; what is wrong with it is told with its key, in a person's words.

msgspec checks types, bounds, patterns and keys, and stops at the first fault. Its messages speak of Python's
types and leave out the keys of mappings; :func:`explain` finds the key, the value and what was expected.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T")

Key = tuple[str | int, ...]
"""The place of a value: keys of mappings and positions in lists, from the top."""

_TOO_LARGE = 2**63
"""No number of an input is as large, and doubles and counts of 64 bits hold whatever is smaller."""

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "object": "a mapping",
    "array": "a list",
}

_BOUNDS = {">=": "at least", ">": "greater than", "<=": "at most", "<": "less than"}

_SAYINGS: dict[str, str] = {}
"""What messages say of a text that does not match a pattern."""


class Fault(ValueError):
    """
    A value that cannot be accepted.

    Parameters
    ----------
    at
        Its key. Where a struct raises this in ``__post_init__``: the key within the struct.
    what
        What is wrong with it.
    """

    def __init__(self, at: Key, what: str) -> None:
        super().__init__(at, what)
        self.at = at
        self.what = what

    def __str__(self) -> str:
        return f"{dotted(self.at)}: {self.what}" if self.at else self.what


@contextmanager
def under(*at: str | int) -> Iterator[None]:
    """Put a key in front of the keys of the faults that are raised within."""
    try:
        yield
    except Fault as fault:
        raise Fault((*at, *fault.at), fault.what) from None


def check_known(name: object, known: Collection[str], what: str, *at: str | int) -> None:
    """
    Refuse a name that nothing has.

    Parameters
    ----------
    name
        What was written.
    known
        What may be written.
    what
        What it would be the name of.
    *at
        The key of the name.

    Raises
    ------
    Fault
        With a suggestion.
    """
    if name not in known:
        raise Fault(at, f"unknown {what} {name!r}{did_you_mean(name, known)}")


def pattern(
    regex: str, says: str, min_length: int | None = None, max_length: int | None = None
) -> msgspec.Meta:
    """
    Make the annotation of a text that has to match a pattern.

    Parameters
    ----------
    regex
        The pattern; it is searched for, so that it needs its own anchors.
    says
        What is said of a text that does not match: ``"is no name"``.
    min_length, max_length
        Bounds of its length.
    """
    _SAYINGS[regex] = says
    return msgspec.Meta(pattern=regex, min_length=min_length, max_length=max_length)


def convert(value: object, kind: type[T], endless: str = "", text_keys: bool = True) -> T:
    """
    Convert plain data.

    Parameters
    ----------
    value
        What YAML or JSON made: mappings, lists, texts, numbers, booleans, None.
    kind
        A type of msgspec.
    endless
        The key whose value may be infinite.
    text_keys
        Whether all keys have to be texts.

    Returns
    -------
    kind
        The converted value.

    Raises
    ------
    Fault
        For the first value that does not fit.
    """
    refuse_strange(value, (), endless, text_keys)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise explain(error, value, kind) from None


def refuse_strange(value: object, at: Key, endless: str, text_keys: bool) -> None:
    """
    Refuse numbers that nothing can be computed with, and what is no plain data; see :func:`convert`.

    Raises
    ------
    Fault
        For the first one.
    """
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if text_keys and not isinstance(key, str):
                raise Fault(at, f"key must be text, not {shown(key)}")
            refuse_strange(entry, (*at, key), endless, text_keys)
    elif isinstance(value, list):
        for position, entry in enumerate(value):
            refuse_strange(entry, (*at, position), endless, text_keys)
    elif isinstance(value, int | float):
        allowed = value == math.inf and endless and at[-1:] == (endless,)
        if not (abs(value) < _TOO_LARGE or allowed):  # written so that it meets nan as well
            raise Fault(at, f"must be a number of a size that can be, not {shown(value)}")
    elif value is not None and not isinstance(value, str):
        raise Fault(at, f"must be plain data, not {shown(value)}")


def explain(error: msgspec.ValidationError, value: Any, kind: Any) -> Fault:
    """
    Tell a fault that msgspec found.

    Parameters
    ----------
    error
        What ``msgspec.convert(value, kind)`` raised.
    value, kind
        Its arguments.

    Returns
    -------
    Fault
        Its key, and what is wrong.
    """
    parts = re.fullmatch(r"(?s)(.*) - at (`key` in )?`\$(.*)`", str(error))
    what, of_key, path = parts.groups() if parts else (str(error), None, "")
    at: Key = ()
    inner = value
    for name, position, nameless in re.findall(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])", path):
        if nameless:
            # msgspec does not name the entry of a mapping: it is the one that fails alone.
            key, value = _culprit(error, value, at, inner, kind)
        else:
            key = name or int(position)
        at, inner = (*at, key), inner[key]
    if isinstance(error.__cause__, Fault):
        return Fault((*at, *error.__cause__.at), error.__cause__.what)
    if of_key:
        inner, _ = _culprit(error, value, at, inner, kind)
        keys = [each.key_type for each in _kinds(kind, at) if isinstance(each, inspect.DictType)]
        complaint = _complaint(what, inner, keys)
        return Fault(at, complaint if isinstance(inner, str) else f"key {complaint}")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)
    if unknown:
        return Fault((*at, unknown[1]), f"unknown key{did_you_mean(unknown[1], _fields(kind, at))}")
    missing = re.fullmatch(r"Object missing required field `(.*)`", what)
    if missing:
        return Fault(at, f"key {missing[1]!r} is missing")
    return Fault(at, _complaint(what, inner, _kinds(kind, at)))


def _culprit(
    error: msgspec.ValidationError, value: Any, at: Key, entries: Mapping[Any, Any], kind: Any
) -> tuple[Any, Any]:
    """Return the key whose entry alone gives the same error, and the value with that entry alone."""
    for key, entry in entries.items():
        alone = _with(value, at, {key: entry})
        try:
            msgspec.convert(alone, kind)
        except msgspec.ValidationError as found:
            if str(found) == str(error):
                return key, alone
    raise error


def _with(value: Any, at: Key, new: Any) -> Any:
    """Return a value with the part at a key replaced."""
    if not at:
        return new
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copy[at[0]] = _with(value[at[0]], at[1:], new)
    return copy


def _complaint(what: str, value: Any, kinds: Sequence[inspect.Type]) -> str:
    """Say in a person's words what msgspec found wrong with a value."""
    types = re.fullmatch(r"Expected `([^`]*)`(?:, got `.*`)?", what)
    if types:
        names = types[1].split(" | ")
        numeric = bool({"int", "float"} & set(names))
        words = [_TYPES.get(name, name) for name in names if not (name == "int" and "float" in names)]
        hint = ""
        if numeric and isinstance(value, str) and _is_number(value):
            hint = "; YAML reads it as text: write it with a decimal point, such as 1.0e-3"
        return f"must be {' or '.join(words)}, not {shown(value)}{hint}"
    bound = re.fullmatch(r"Expected `\w+` ([<>]=?) (\S+)", what)
    if bound:
        if bound[0].endswith(("`int` >= 1", "> 0.0")):
            return f"must be positive, not {shown(value)}"
        return f"must be {_BOUNDS[bound[1]]} {float(bound[2]):g}, not {shown(value)}"
    length = re.fullmatch(r"Expected `\w+` of length (>=|<=)? ?(\d+).*", what)
    if length:
        if length[1] == ">=" and length[2] == "1":
            return "must not be empty"
        relation = f"{_BOUNDS[length[1]]} " if length[1] else ""
        return f"must be of length {relation}{length[2]}: {shown(value)}"
    regex = re.fullmatch(r"Expected `str` matching regex (.*)", what, re.DOTALL)
    if regex:
        return f"{shown(value)} {_SAYINGS[ast.literal_eval(regex[1])]}"
    if what.startswith("Invalid enum value"):
        known = [str(word) for each in kinds for word in getattr(each, "values", ())]
        return f"must be one of {', '.join(known)}, not {shown(value)}{_closest(value, known)}"
    return what


def _fields(kind: Any, at: Key) -> list[str]:
    """Return the keys that a struct at a place may have."""
    return [field.encode_name for each in _kinds(kind, at) for field in getattr(each, "fields", ())]


def _kinds(kind: Any, at: Key) -> list[inspect.Type]:
    """Return the types, one or several, that a value may have at a place."""
    kinds = list(_alternatives(inspect.type_info(kind)))
    for part in at:
        inner: list[inspect.Type] = []
        for each in kinds:
            if isinstance(each, inspect.StructType):
                inner += [field.type for field in each.fields if field.encode_name == part]
            elif isinstance(each, inspect.DictType):
                inner.append(each.value_type)
            elif isinstance(each, inspect.ListType | inspect.VarTupleType):
                inner.append(each.item_type)
        kinds = [found for each in inner for found in _alternatives(each)]
    return kinds


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _alternatives(each)
    else:
        yield kind


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """
    Suggest the known word that a mistyped one resembles.

    Parameters
    ----------
    word
        What was written.
    known
        What may be written.

    Returns
    -------
    str
        ``"; did you mean 'x'?"``, or the list of what is known if nothing resembles it and the list is short.
    """
    names = sorted(map(str, known))
    return _closest(word, names) or (f"; known: {', '.join(names)}" if 0 < len(names) <= 30 else "")


def _closest(word: object, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(word), names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def shown(value: object) -> str:
    """Write a value for a message: in one line, and not more of it than a person reads."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def dotted(at: Sequence[str | int]) -> str:
    """Write a key as people do: ``experiments.adult-linear.sizes[2]``."""
    text = ""
    for part in at:
        if not isinstance(part, str):
            text += f"[{part}]"
            continue
        name = part if part and part.isprintable() and len(part) <= 100 else shown(part)
        text += f".{name}" if text else name
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
