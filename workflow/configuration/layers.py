"""
Layered YAML: files and command-line settings merged key by key, each value remembering where it came from.

An error about a value can so name the file and the key that a person has to change, however many layers the
value passed through.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from svmrepro.workflow.configuration.plain_yaml import load_plain
from svmrepro.workflow.errors import StepError, one_line

Key = tuple[str | int, ...]

#: No setting is as large, and doubles and counts of 64 bits hold whatever is smaller.
_TOO_LARGE = 2**63

#: Settings for which infinity is an answer: no limit.
_ENDLESS = (("iteration_limit",),)

#: What types are called in messages to people.
_TYPE_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def read_yaml(path: Path) -> dict[str, Any]:
    """
    Read a YAML mapping without ever building anything but plain data.

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
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise StepError(f"{path}: must hold a mapping of keys, not {_shown(content)}")
    return content


class Layers:
    """
    Mappings merged one over the other; later ones win, lists are replaced whole.

    Attributes
    ----------
    content
        The merged mapping.
    """

    def __init__(self) -> None:
        self.content: dict[str, Any] = {}
        self._origins: dict[Key, tuple[str, Key]] = {}

    def add(self, layer: Mapping[str, Any], origin: str, prefix: Key = ()) -> None:
        """
        Merge a layer over what is there.

        Parameters
        ----------
        layer
            A mapping; nested mappings are merged, everything else replaces.
        origin
            How messages call where it came from (a file name, ``--config``).
        prefix
            The key in that origin under which the layer stands there.
        """
        self._merge(self.content, layer, origin, (), prefix)

    def _merge(
        self, target: dict[str, Any], layer: Mapping[str, Any], origin: str, at: Key, prefix: Key
    ) -> None:
        for key, value in layer.items():
            path = (*at, key)
            if origin:  # a graft brings its own
                self._origins[path] = (origin, (*prefix, *path))
            if isinstance(value, Mapping):
                inner = target.get(key)
                if not isinstance(inner, dict):
                    inner = target[key] = {}
                self._merge(inner, value, origin, path, prefix)
            else:
                target[key] = value

    def graft(self, other: Layers, at: Key, into: Key) -> None:
        """
        Merge a part of other layers over what is there, keeping where its values came from.

        Parameters
        ----------
        other
            The layers that hold the part.
        at
            Its key there; a missing part is an empty one.
        into
            The key under which it is merged here.
        """
        part: Any = other.content
        for key in at:
            part = part.get(key) or {}
        for key in reversed(into):
            part = {key: part}
        self._merge(self.content, part, "", (), ())
        for path, origin in other._origins.items():
            if path[: len(at)] == at:
                self._origins[(*into, *path[len(at) :])] = origin

    def drop_nulls(self, *at: str | int) -> None:
        """Take out the entries of the mapping at a key whose value is null."""
        inner: Any = self.content
        for key in at:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            for key in [key for key, value in inner.items() if value is None]:
                del inner[key]

    def error(self, path: Iterable[str | int], what: str) -> StepError:
        """
        Make the error that names file and key.

        Parameters
        ----------
        path
            The key in the merged content.
        what
            What is wrong with its value.

        Returns
        -------
        StepError
            ``file: key: what``.
        """
        full = tuple(path)
        for length in range(len(full), 0, -1):
            if full[:length] in self._origins:
                origin, key = self._origins[full[:length]]
                return StepError(f"{origin}: {_dotted((*key, *full[length:]))}: {what}")
        origin = next((origin for origin, _ in self._origins.values()), "configuration")
        return StepError(f"{origin}: {_dotted(full)}: {what}" if full else f"{origin}: {what}")

    def validate(self, schema: Mapping[str, Any], only: str) -> None:
        """
        Check the merged content against a definition of a JSON schema.

        Parameters
        ----------
        schema
            The schema document.
        only
            The key of the document that holds the definition.

        Raises
        ------
        StepError
            For the first fault in the order of the keys: file, key, what is wrong, what may have been meant.
        """
        # jsonschema takes a tenth of a second to import and steps that read a resolved file do without it.
        from jsonschema import Draft202012Validator

        self._refuse_strange((), self.content)
        document = {"$defs": schema["$defs"], **schema[only]}
        errors = sorted(
            Draft202012Validator(document).iter_errors(self.content),
            # A mistyped key is a better explanation than the right one's absence.
            key=lambda error: (
                [str(part) for part in error.absolute_path],
                error.validator != "additionalProperties",
            ),
        )
        if errors:
            raise self._explain(errors[0])

    def _refuse_strange(self, at: Key, value: Any) -> None:
        """Refuse what a schema lets through and nothing here can work with."""
        if isinstance(value, Mapping):
            for key, entry in value.items():
                if not isinstance(key, str):
                    raise self.error(at, f"key {_shown(key)} must be text")
                self._refuse_strange((*at, key), entry)
        elif isinstance(value, list):
            for position, entry in enumerate(value):
                self._refuse_strange((*at, position), entry)
        elif isinstance(value, int | float):
            endless = value == math.inf and at[-1:] in _ENDLESS
            if not (abs(value) < _TOO_LARGE or endless):  # written so that it meets nan as well
                raise self.error(at, f"must be a number of a size that can be, not {_shown(value)}")
        elif value is not None and not isinstance(value, str):
            raise self.error(at, f"must be plain data, not {_shown(value)}")

    def _explain(self, error: Any) -> StepError:
        if error.validator in ("anyOf", "oneOf") and error.context:
            # Alternatives here are "null or a mapping": speak about the one that the value resembles.
            alike = [inner for inner in error.context if inner.validator != "type"] or list(error.context)
            if error.validator == "anyOf":
                return self._explain(max(alike, key=lambda inner: len(inner.absolute_path)))
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties" and isinstance(error.validator_value, bool):
            known = error.schema.get("properties", {})
            unknown = next(key for key in error.instance if key not in known)
            return self.error((*path, unknown), f"unknown key{did_you_mean(unknown, known)}")
        if error.validator == "required":
            missing = next(key for key in error.validator_value if key not in error.instance)
            return self.error(path, f"key {missing!r} is missing")
        return self.error(path, _complaint(error))


def _complaint(error: Any) -> str:
    """Say in a person's words what a schema keyword found wrong."""
    value, limit = error.instance, error.validator_value
    if error.validator == "type":
        names = [limit] if isinstance(limit, str) else limit
        hint = ""
        if isinstance(value, str) and {"number", "integer"} & set(names) and _is_number(value):
            hint = "; YAML reads it as text: write it with a decimal point, such as 1.0e-3"
        return f"must be {' or '.join(_TYPE_NAMES[name] for name in names)}, not {_shown(value)}{hint}"
    if error.validator == "enum":
        return f"must be one of {', '.join(limit)}, not {_shown(value)}{did_you_mean(value, limit)}"
    if error.validator == "exclusiveMinimum":
        return f"must be greater than {limit}, not {_shown(value)}"
    if error.validator == "minimum":
        return f"must be at least {limit}, not {_shown(value)}"
    if error.validator in ("minItems", "minProperties", "minLength"):
        return "must not be empty"
    if error.validator == "uniqueItems":
        return f"names something twice: {_shown(value)}"
    if error.validator == "maxLength":
        return f"is longer than {limit} characters: {_shown(value)}"
    if error.validator == "pattern":
        return f"{_shown(value)} {error.schema['description']}"
    if error.validator == "oneOf":
        return "needs exactly one of C and C_total"
    return one_line(error)


def did_you_mean(word: object, known: Iterable[str]) -> str:
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
    close = difflib.get_close_matches(str(word), names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= 30 else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(value: object) -> str:
    """Write a value for a message: in one line, and not more of it than a person reads."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:197]}..."


def _dotted(path: Sequence[str | int]) -> str:
    """Write a key as people do: ``experiments.adult-linear.sizes[2]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if part.isprintable() and len(part) <= 100 else _shown(part)
        text += f".{name}" if text else name
    return text
