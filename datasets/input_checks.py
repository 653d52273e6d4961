"""Validation of structured input by msgspec, with messages that name the key and are easy to read.

msgspec checks types, bounds, patterns and keys, and stops at the first fault. Its messages name Python types
and omit the keys of mappings; :func:`explain` finds the key, the value and what was expected.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import structs

T = TypeVar("T")

Key = tuple[str | int, ...]
"""The path to a value: keys of mappings and positions in lists, from the top."""

_TOO_LARGE = 2**63
"""Numbers must be smaller than this; all smaller ones fit into doubles and 64-bit counts."""

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
"""Pattern -> message for a text that does not match it."""


class Fault(ValueError):
    """An invalid value: its key, and what is wrong with it.

    A fault that a struct raises in ``__post_init__`` has the key within the struct.
    """

    def __init__(self, at: Key, what: str) -> None:
        super().__init__(at, what)
        self.at = at
        self.what = what

    def __str__(self) -> str:
        return f"{dotted(self.at)}: {self.what}" if self.at else self.what


@contextmanager
def under(*at: str | int) -> Iterator[None]:
    """Prefix the keys of faults raised within this context."""
    try:
        yield
    except Fault as fault:
        raise Fault((*at, *fault.at), fault.what) from None


def check_known(name: object, known: Collection[str], what: str, *at: str | int) -> None:
    """Raise a Fault at a key if ``name``, a name of the kind ``what``, is unknown; suggest a known one."""
    if name not in known:
        raise Fault(at, f"unknown {what} {shown(name)}{did_you_mean(name, known)}")


def pattern(
    regex: str, says: str, min_length: int | None = None, max_length: int | None = None
) -> msgspec.Meta:
    """Return the annotation of a text that must match a pattern; ``says`` is the message if it does not.

    The pattern is searched for, so it needs its own anchors. Do not use it in a union with a list or a
    mapping: msgspec 0.22 frees such a type wrongly and crashes.
    """
    _SAYINGS[regex] = says
    return msgspec.Meta(pattern=regex, min_length=min_length, max_length=max_length)


def convert(value: object, kind: type[T], endless: str = "", text_keys: bool = True) -> T:
    """Convert plain data, read from YAML or JSON, to a msgspec type; the first invalid value is a Fault.

    The value of the key ``endless`` may be infinite. All keys must be texts unless ``text_keys`` is false;
    those of ``labels`` may always be numbers.
    """
    refuse_strange(value, (), endless, text_keys)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise explain(error, value, kind) from None


def refuse_strange(value: object, at: Key, endless: str, text_keys: bool) -> None:
    """Check that a value is plain data with finite numbers of reasonable size; see :func:`convert`."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            number = isinstance(key, int | float) and not isinstance(key, bool)
            if text_keys and not isinstance(key, str) and not (number and at[-1:] == ("labels",)):
                raise Fault(at, f"key must be text, not {shown(key)}")
            refuse_strange(entry, (*at, key), endless, text_keys)
    elif isinstance(value, list):
        for position, entry in enumerate(value):
            refuse_strange(entry, (*at, position), endless, text_keys)
    elif isinstance(value, int | float):
        allowed = value == math.inf and endless and at[-1:] == (endless,)
        if not (abs(value) < _TOO_LARGE or allowed):  # this form also catches nan
            raise Fault(at, f"must be a number below 2^63 in size, not {shown(value)}")
    elif value is not None and not isinstance(value, str):
        raise Fault(at, f"must be plain data, not {shown(value)}")


def explain(error: msgspec.ValidationError, value: Any, kind: Any) -> Fault:
    """Turn the error that ``msgspec.convert(value, kind)`` raised into a fault with the key."""
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
    """Return the fault for the first invalid key of a mapping."""
    expected = next((get_args(each)[0] for each in _alternatives(kind) if get_args(each)), str)
    key, error = next((key, error) for key in value if (error := _error(key, expected)))
    complaint = _complaint(str(error), key, expected)
    return Fault((), complaint if isinstance(key, str) else f"key {complaint}")


def _error(value: Any, kind: Any) -> msgspec.ValidationError | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return error
    return None


def _inner(value: Any, kind: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield the key, value and expected type of each entry of a mapping or list."""
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
    kinds = _alternatives(kind)
    return [each for each in kinds if isinstance(each, type) and issubclass(each, msgspec.Struct)]


def _alternatives(kind: Any) -> Iterator[Any]:
    """Yield the members of a union, or the type itself, without annotations."""
    if get_origin(kind) is Annotated:
        yield from _alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _alternatives(each)
    else:
        yield kind


def _complaint(what: str, value: Any, kind: Any) -> str:
    """Rephrase a message of msgspec about a value."""
    types = re.fullmatch(r"Expected `([^`]*)`(?:, got `.*`)?", what)
    if types:
        names = types[1].split(" | ")
        words = [_TYPES.get(name, name) for name in names if not (name == "int" and "float" in names)]
        hint = ""
        if isinstance(value, str) and {"int", "float"} & set(names):
            with suppress(ValueError):
                number = float(value)
                hint = "; YAML reads it as text: write it with a decimal point, such as 1.0e-3"
                if "float" not in names:
                    hint = f"; YAML reads it as text: write {number:.0f}" if number.is_integer() else ""
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
        return f"{shown(value)} {_SAYINGS.get(ast.literal_eval(regex[1]), 'does not have the required form')}"
    if what.startswith("Invalid enum value"):
        known = [str(word) for each in _alternatives(kind) for word in get_args(each)]
        return f"must be one of {', '.join(known)}, not {shown(value)}{closest(value, known)}"
    return what


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Suggest the known word closest to a mistyped one; if none is similar, list up to 30 known words."""
    names = sorted(map(str, known))
    listed = f"; known: {', '.join(names)}" if 0 < len(names) <= 30 else ""
    return closest(word, names) or listed


def closest(word: object, known: Iterable[object]) -> str:
    """Suggest the known word closest to a mistyped one; "" if none is similar."""
    close = difflib.get_close_matches(str(word)[:100], sorted(map(str, known)), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def shown(value: object) -> str:
    """Format a value for a message: on one line, cut to 100 characters."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def dotted(at: Sequence[str | int]) -> str:
    """Format a key with dots and brackets: ``experiments.adult-linear.sizes[2]``."""
    text = ""
    for part in at:
        if not isinstance(part, str):
            text += f"[{part}]"
            continue
        name = part if part and part.isprintable() and len(part) <= 100 else shown(part)
        text += f".{name}" if text else name
    return text
