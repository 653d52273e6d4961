"""Examples on a page, run when the site is built, and their output."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

from sitekit.site_links import TextError, Texts

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Examples:
    """
    The Python blocks of a page, which share their names, as in a notebook.

    Parameters
    ----------
    texts
        The page.
    source
        Its text.
    """

    def __init__(self, texts: Texts, source: str) -> None:
        self._root, self._blocks, self._names = texts.root, _BLOCK.findall(source), dict[str, Any]()

    def output(self, number: int) -> str:
        """Run a block, counted from 1, in the folder of the repository; return what it prints, as a block."""
        if not 1 <= number <= len(self._blocks):
            raise TextError(f"the page has {len(self._blocks)} Python blocks, no number {number}")
        said = io.StringIO()
        try:
            with contextlib.chdir(self._root), contextlib.redirect_stdout(said):
                exec(self._blocks[number - 1], self._names)
        except Exception as error:
            raise TextError(f"Python block {number}: {type(error).__name__}: {error}") from error
        return f"```text\n{said.getvalue()}```"
