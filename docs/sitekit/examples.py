"""Examples on a page, run when the site is built, with their output; also as a notebook."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import pyplot

from sitekit.site_links import TextError, Texts

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXPRESSION = re.compile(r"^\{\{.*?\}\}$", re.MULTILINE)
#: A link to another page, which a notebook elsewhere does not have beside it.
_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+://)[^)]+\)")


class _Output(NamedTuple):
    """What a block printed, and the figures that it left: title and PNG in base 64."""

    text: str
    figures: list[tuple[str, str]]


class Examples:
    """
    The Python blocks of a page, which share their names, as in a notebook.

    Parameters
    ----------
    texts
        The page.
    source
        Its text.
    notebook
        The file that `notebook` writes.
    """

    def __init__(self, texts: Texts, source: str, notebook: Path) -> None:
        self._root, self._notebook, self._names = texts.root, notebook, dict[str, Any]()
        # By turns text and block, beginning and ending with a text.
        self._parts = _BLOCK.split(source)
        self._outputs: list[_Output] = []

    def output(self, number: int) -> str:
        """Return what a block, counted from 1, prints and draws; it runs in the folder of the repository."""
        count = len(self._parts) // 2
        if not 1 <= number <= count:
            raise TextError(f"the page has {count} Python blocks, no number {number}")
        text, figures = self._output(number)
        images = [
            f'<p><img alt="{escape(title)}" src="data:image/png;base64,{png}"></p>' for title, png in figures
        ]
        # Without a line break before it, the fence would not end.
        printed = text.rstrip("\n")
        return "\n\n".join([*([f"```text\n{printed}\n```"] if text else []), *images])

    def notebook(self) -> str:
        """Write the page as a notebook with its output; return a link to it."""
        cells = []
        for place, part in enumerate(self._parts):
            if place % 2:
                number = place // 2 + 1
                text, figures = self._output(number)
                outputs: list[dict[str, Any]] = [
                    {"output_type": "display_data", "data": {"image/png": png}, "metadata": {}}
                    for _, png in figures
                ]
                if text:
                    outputs.insert(0, {"output_type": "stream", "name": "stdout", "text": text})
                more = {"execution_count": number, "outputs": outputs}
                cells.append({"cell_type": "code", "metadata": {}, "source": part.strip(), **more})
            elif words := _RELATIVE_LINK.sub(r"\1", _EXPRESSION.sub("", part)).strip():
                cells.append({"cell_type": "markdown", "metadata": {}, "source": words})
        python = {"name": "python3", "display_name": "Python 3", "language": "python"}
        whole = {"cells": cells, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 4}
        self._notebook.parent.mkdir(parents=True, exist_ok=True)
        self._notebook.write_text(json.dumps(whole, indent=1), encoding="utf-8")
        return f'<p><a href="{self._notebook.name}" download>{self._notebook.name}</a></p>'

    def _output(self, number: int) -> _Output:
        """Run the blocks up to one that have not run yet; return the output of that one."""
        for place in range(len(self._outputs), number):
            said = io.StringIO()
            pyplot.switch_backend("agg")
            try:
                with contextlib.chdir(self._root), contextlib.redirect_stdout(said):
                    exec(self._parts[2 * place + 1], self._names)
            except Exception as error:
                raise TextError(f"Python block {place + 1}: {type(error).__name__}: {error}") from error
            self._outputs.append(_Output(said.getvalue(), _figures()))
        return self._outputs[number - 1]


def _figures() -> list[tuple[str, str]]:
    """Return title and PNG of each open figure, and close it."""
    found = []
    for figure in map(pyplot.figure, pyplot.get_fignums()):
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=120)
        found.append((figure.axes[0].get_title(), base64.b64encode(image.getvalue()).decode()))
    pyplot.close("all")
    return found
