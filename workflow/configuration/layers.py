"""
Layered YAML: files and command-line settings merged key by key, each value remembering where it came from.

An error about a value can so name the file and the key that a person has to change, however many layers the
value passed through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from svmrepro.datasets.validation import Fault, Key, convert, dotted
from svmrepro.workflow.errors import StepError

T = TypeVar("T")


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

    def add(self, layer: Mapping[str, Any], origin: str) -> None:
        """
        Merge a layer over what is there.

        Parameters
        ----------
        layer
            A mapping; nested mappings are merged, everything else replaces.
        origin
            How messages call where it came from (a file name, ``--config``).
        """
        self._merge(self.content, layer, origin, ())

    def _merge(self, target: dict[str, Any], layer: Mapping[str, Any], origin: str, at: Key) -> None:
        for key, value in layer.items():
            path = (*at, key)
            if origin:  # a graft brings its own
                self._origins[path] = (origin, path)
            if isinstance(value, Mapping):
                inner = target.get(key)
                if not isinstance(inner, dict):
                    inner = target[key] = {}
                self._merge(inner, value, origin, path)
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
        self._merge(self.content, part, "", ())
        for path, origin in other._origins.items():
            if path[: len(at)] == at:
                self._origins[(*into, *path[len(at) :])] = origin

    def error(self, full: Key, what: str) -> StepError:
        """Make the error about the value at a key of the merged content: ``file: key: what``."""
        for length in range(len(full), 0, -1):
            if full[:length] in self._origins:
                origin, key = self._origins[full[:length]]
                return StepError(f"{origin}: {dotted((*key, *full[length:]))}: {what}")
        origin = next((origin for origin, _ in self._origins.values()), "configuration")
        return StepError(f"{origin}: {dotted(full)}: {what}" if full else f"{origin}: {what}")

    def convert(self, kind: type[T]) -> T:
        """
        Return the merged content as what it has to be.

        Raises
        ------
        StepError
            For the first fault: file, key, what is wrong, what may have been meant.
        """
        try:
            return convert(self.content, kind, endless="iteration_limit")
        except Fault as fault:
            raise self.error(fault.at, fault.what) from None
