"""Layered YAML: files and command-line settings merged key by key. Each value remembers its origin.

An error message can thus name the file and key to change, however many layers were merged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from svmrepro.datasets.input_checks import Fault, Key, convert, dotted, shown
from svmrepro.workflow.configuration.plain_yaml import apart
from svmrepro.workflow.errors import StepError

T = TypeVar("T")


class Layers:
    """Mappings merged into one, ``content``. Later layers win; lists are replaced as a whole."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {}
        self._origins: dict[Key, tuple[str, Key]] = {}

    def add(self, layer: Mapping[str, Any], origin: str) -> None:
        """Merge a layer over the current content: nested mappings are merged, all other values replace.

        Messages name the source of its values by ``origin`` (a file name, ``--config``).
        """
        for key in layer:
            if not isinstance(key, str):  # its origin is known only here
                raise StepError(f"{origin}: key must be text, not {shown(key)}")
        self._merge(self.content, layer, origin, ())

    def _merge(self, target: dict[str, Any], layer: Mapping[str, Any], origin: str, at: Key) -> None:
        for key, value in layer.items():
            path = (*at, key)
            if origin:  # `graft` sets the origins itself
                self._origins[path] = (origin, path)
            if isinstance(value, Mapping):
                inner = target.get(key)
                if not isinstance(inner, dict):
                    inner = target[key] = {}
                self._merge(inner, value, origin, path)
            else:
                target[key] = value

    def graft(self, other: Layers, at: Key, into: Key, without: Collection[str] = ()) -> None:
        """Merge the part of other layers at one key under another key; its values keep their origins.

        A missing part counts as empty. The keys in ``without`` are left out.
        """
        part: Any = other.content
        for key in at:
            part = part.get(key) or {}
        if without:
            part = {key: value for key, value in part.items() if key not in without}
        for key in reversed(into):
            part = {key: part}
        self._merge(self.content, part, "", ())
        if at and at not in other._origins:  # usually empty
            return
        for path, origin in other._origins.items():
            if path[: len(at)] == at:
                self._origins[(*into, *path[len(at) :])] = origin

    def beyond(self, base: Mapping[str, Any]) -> Layers:
        """Return those values that ``base`` does not have; they keep their origins."""
        found = Layers()
        found.content = apart(self.content, base)[1]
        found._origins = dict(self._origins)
        return found

    def error(self, full: Key, what: str) -> StepError:
        """Return an error about the value at a key of the merged content: ``file: key: what``."""
        for length in range(len(full), 0, -1):
            if full[:length] in self._origins:
                origin, key = self._origins[full[:length]]
                at = dotted((*key, *full[length:]))
                # The name of the option is that of the key.
                return StepError(f"{origin}: {what}" if origin == f"--{at}" else f"{origin}: {at}: {what}")
        origin = next((origin for origin, _ in self._origins.values()), "configuration")
        return StepError(f"{origin}: {dotted(full)}: {what}" if full else f"{origin}: {what}")

    def convert(self, kind: type[T]) -> T:
        """Convert the merged content to a type.

        The first fault raises a StepError: file, key, what is wrong, and a suggestion.
        """
        try:
            return convert(self.content, kind, endless="iteration_limit")
        except Fault as fault:
            raise self.error(fault.at, fault.what) from None
