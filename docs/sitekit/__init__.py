"""Sphinx extension of this site: pages filled in from the repository, mathematics without a script.

A page is Markdown. Its links to other pages and to files of the repository are relative paths, which also
work where the plain file is read. Expressions in double braces, for instance ``{{ whole("CHANGELOG.md") }}``,
are evaluated before the page is parsed, so that its headings and links are those of one document. Within an
HTML comment, they are not seen in the plain file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from sitekit import mathml
from sitekit.examples import Examples
from sitekit.main_findings import main_findings
from sitekit.numbers import FILTERS, Numbers
from sitekit.papers import PaperPage
from sitekit.site_links import TextError, Texts
from sitekit.solvers import algorithm_modules, constant, other_modules, solver_table

#: ``{#`` begins the name of a heading in Markdown, so comments begin otherwise.
_JINJA = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    autoescape=False,
    comment_start_string="{##",
    comment_end_string="##}",
    keep_trailing_newline=True,
)
_JINJA.filters.update(FILTERS)
#: An expression that the plain page does not show.
_HIDDEN = re.compile(r"<!-- (\{\{.*?\}\}) -->")
_HERE = Path(__file__).parent
_PAPER = _JINJA.from_string((_HERE / "paper.md").read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("source-read", _fill_in)
    mathml.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Resolve the links of a page and evaluate its expressions; an error ends the build in one line."""
    texts = Texts(Path(app.srcdir), docname)
    numbers = Numbers(texts.root)
    source[0] = _HIDDEN.sub(r"\1", source[0])
    examples = Examples(texts, source[0], Path(app.outdir, f"{docname}.ipynb"))
    offered = {
        **numbers.functions(),
        "whole": texts.whole,
        "opening": texts.opening,
        "body": lambda file, heading: texts.section(file, heading).body,
        "output": examples.output,
        "notebook": examples.notebook,
        "solvers": solver_table,
        "constant": constant,
        "algorithm_modules": lambda: algorithm_modules(texts),
        "other_modules": lambda: other_modules(texts),
        "citation": lambda name: PaperPage(texts, name).citation,
        "paper": lambda name: _PAPER.render(
            page=PaperPage(texts, name), main=main_findings(numbers, texts, name)
        ),
    }
    try:
        source[0] = _JINJA.from_string(texts.linked(source[0], texts.folder)).render(offered)
    except (TextError, jinja2.TemplateError) as error:
        raise ExtensionError(f"docs/{docname}.md: {error}") from error
    for file in texts.read | numbers.read | {*_HERE.glob("*.py"), _HERE / "paper.md"}:
        app.env.note_dependency(str(file), docname=docname)
