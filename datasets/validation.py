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
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import structs

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
        raise Fault(at, f"unknown {what} {shown(name)}{did_you_mean(name, known)}")


def pattern(
    regex: str, says: str, min_length: int | None = None, max_length: int | None = None
) -> msgspec.Meta:
    """
    Make the annotation of a text that has to match a pattern.

    In a union beside a list or a mapping it crashes: msgspec 0.22 frees such a type wrongly.

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
    if str(error).endswith(" - at `key` in `$`"):
        return _explain_key(value, kind)
    for key, inner, expected in _inner(value, kind):
        found = _error(inner, expected)
        if found:
            fault = explain(found, inner, expected)
            return Fault((key, *fault.at), fault.what)
    if isinstance(error.__cause__, Fault):
        return error.__cause__
    what = str(error)
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)
    if unknown:
        known = [field.encode_name for each in _structs(kind) for field in structs.fields(each)]
        return Fault((unknown[1],), f"unknown key{did_you_mean(unknown[1], known)}")
    missing = re.fullmatch(r"Object missing required field `(.*)`", what)
    return Fault((), f"key {missing[1]!r} is missing" if missing else _complaint(what, value, kind))


def _explain_key(value: Mapping[Any, Any], kind: Any) -> Fault:
    """Tell which key of a mapping is none."""
    expected = next((get_args(each)[0] for each in _alternatives(kind) if get_args(each)), str)
    for key in value:
        error = _error(key, expected)
        if error:
            complaint = _complaint(str(error), key, expected)
            return Fault((), complaint if isinstance(key, str) else f"key {complaint}")
    return Fault((), "has a key that is none")


def _error(value: Any, kind: Any) -> msgspec.ValidationError | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return error
    return None


def _inner(value: Any, kind: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield what a mapping or list holds: key, value, and the type that it has to have."""
    if isinstance(value, Mapping):
        for each in _structs(kind):
            for field in structs.fields(each):
                if field.encode_name in value:
                    yield field.encode_name, value[field.encode_name], field.type
    for each in _alternatives(kind):
        args = get_args(each)
        if isinstance(value, Mapping) and len(args) == 2 and get_origin(each) in (dict, Mapping):
            yield from ((key, inner, args[1]) for key, inner in value.items())
        elif isinstance(value, list) and get_origin(each) in (list, tuple):
            expected = args[:1] * len(value) if len(args) == 1 or args[1] is ... else args
            yield from zip(range(len(value)), value, expected, strict=False)


def _structs(kind: Any) -> list[type[msgspec.Struct]]:
    return [
        each for each in _alternatives(kind) if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ]


def _alternatives(kind: Any) -> Iterator[Any]:
    """Yield the types that a type stands for, without annotations."""
    if get_origin(kind) is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _alternatives(each)
    else:
        yield kind


def _complaint(what: str, value: Any, kind: Any) -> str:
    """Say in a person's words what msgspec found wrong with a value."""
    types = re.fullmatch(r"Expected `([^`]*)`(?:, got `.*`)?", what)
    if types:
        names = types[1].split(" | ")
        words = [_TYPES.get(name, name) for name in names if not (name == "int" and "float" in names)]
        hint = ""
        if isinstance(value, str) and {"int", "float"} & set(names) and _is_number(value):
            hint = "; YAML reads it as text: write it with a decimal point, such as 1.0e-3"
        return f"must be {' or '.join(words)}, not {shown(value)}{hint}"
    bound = re.fullmatch(r"Expected `\w+` ([<>]=?) (\S+)", what)
    if bound:
        positive = bound[0].endswith(("`int` >= 1", "> 0.0"))
        required = "positive" if positive else f"{_BOUNDS[bound[1]]} {float(bound[2]):g}"
        return f"must be {required}, not {shown(value)}"
    length = re.fullmatch(r"Expected `\w+` of length (>=|<=)? ?(\d+).*", what)
    if length:
        relation = f"{_BOUNDS[length[1]]} " if length[1] else ""
        empty = length[1] == ">=" and not value
        return "must not be empty" if empty else f"must be of length {relation}{length[2]}: {shown(value)}"
    regex = re.fullmatch(r"Expected `str` matching regex (.*)", what, re.DOTALL)
    if regex:
        return (
            f"{shown(value)} {_SAYINGS.get(ast.literal_eval(regex[1]), 'is not of the form it has to have')}"
        )
    if what.startswith("Invalid enum value"):
        known = [str(word) for each in _alternatives(kind) for word in get_args(each)]
        return f"must be one of {', '.join(known)}, not {shown(value)}{_closest(value, known)}"
    return what


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
    close = difflib.get_close_matches(str(word)[:100], names, n=1, cutoff=0.6)
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
