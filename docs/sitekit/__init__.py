"""Sphinx extension of this site: pages filled in from the repository, mathematics without a script.

A page is Markdown with expressions in double braces, for instance ``{{ part("README.md", "Papers") }}``. They
are filled in before the page is parsed, so that its headings and links are those of one document.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from sitekit import mathml
from sitekit.papers import PaperPage
from sitekit.parts import PartError, Texts
from sitekit.solvers import algorithm_modules, constant, other_modules, solver_table

ROOT = Path(__file__).resolve().parent.parent.parent

#: ``{#`` begins the name of a heading in Markdown, so comments begin otherwise.
_JINJA = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    autoescape=False,
    comment_start_string="{##",
    comment_end_string="##}",
    keep_trailing_newline=True,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("source-read", _fill_in)
    mathml.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the expressions of a page; what is missing ends the build in one clear line."""
    texts = Texts(ROOT, Path(app.srcdir), docname)
    offered = {
        "part": texts.part,
        "has_part": texts.has_part,
        "opening": texts.opening,
        "rest": texts.rest,
        "whole": texts.whole,
        "captions": texts.captions,
        "solvers": solver_table,
        "constant": constant,
        "algorithm_modules": lambda: algorithm_modules(texts),
        "other_modules": lambda: other_modules(texts),
        "papers": [PaperPage(texts, file.stem) for file in sorted(Path(app.srcdir, "papers").glob("*.md"))],
        "paper": lambda name: PaperPage(texts, name),
    }
    try:
        source[0] = _JINJA.from_string(source[0]).render(offered)
    except (PartError, jinja2.TemplateError) as error:
        raise ExtensionError(f"docs/{docname}.md: {error}") from error
    for file in texts.read | {*Path(__file__).parent.glob("*.py")}:
        app.env.note_dependency(str(file), docname=docname)
