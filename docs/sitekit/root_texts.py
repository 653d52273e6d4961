"""Files of the repository that are made of others, above all texts with the reference runs' numbers.

``./run texts`` writes them, and fills the lines of the other pages to one width; with ``--check`` it only
says which files would change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jinja2
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.site import rule_graph

from sitekit import parameters
from sitekit.data_tables import column_table, data_set_table, machines_table, scales_table
from sitekit.examples import Examples
from sitekit.numbers import FILTERS, Numbers, filled
from sitekit.site_links import TextError, Texts

ROOT = Path(__file__).resolve().parent.parent.parent
#: Each text and its template, both relative to the repository.
TEXTS = {
    "README.md": "docs/templates/README.md",
    "FINDINGS.md": "docs/templates/FINDINGS.md",
    "docs/verdicts.md": "docs/templates/verdicts.md",
    "docs/planning-readings.md": "docs/templates/planning-readings.md",
    "docs/rules.md": "docs/templates/rules.md",
    "docs/threads.md": "docs/templates/threads.md",
    "docs/grid.md": "docs/templates/grid.md",
    "docs/data.md": "docs/templates/data.md",
    "docs/read.md": "docs/templates/read.md",
}
#: Pages written by hand.
_PAGES = (
    "*.md",
    "containers/*.md",
    "docs/*.md",
    "docs/papers/*.md",
    "workflow/site/*.md",
    "workflow/site/vendor/*.md",
)
_KEYS, _RULES = "config/README.md", "workflow/site/templates/rule_graph.json"


def written(text: str, root: Path = ROOT) -> str:
    """
    Return a text with the numbers of the reference runs.

    Parameters
    ----------
    text
        A key of `TEXTS`.
    root
        The repository.

    Raises
    ------
    TextError
        Naming the template, if a number that it asks for does not exist.
    """
    template = TEXTS[text]
    source = (root / template).read_text(encoding="utf-8")
    texts = Texts(root / "docs", Path(text).stem)
    tables = {
        "captions": texts.captions,
        "columns": column_table,
        "raw_measurements": lambda: scales_table(texts),
        "machines": lambda: machines_table(texts),
        "data_sets": lambda: data_set_table(texts),
        "output": Examples(texts, source, Path()).output,
    }
    try:
        return filled(environment(Numbers(root)).from_string(source).render(tables))
    except (TextError, jinja2.TemplateError, KeyError, TypeError) as error:
        line = f":{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise TextError(f"{template}{line}: {error}") from error


def environment(numbers: Numbers) -> jinja2.Environment:
    """Return the environment of the templates."""
    found = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        comment_start_string="{##",
        comment_end_string="##}",
        keep_trailing_newline=True,
        trim_blocks=True,
    )
    found.globals.update(numbers.functions())
    found.filters.update(FILTERS)
    return found


def _with_filled_lines(page: Path) -> str:
    return filled(page.read_text(encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """Write all files, or with ``--check`` only name those that differ; return the exit code."""
    pages = [page for pattern in _PAGES for page in ROOT.glob(pattern)]
    makers: dict[str, Callable[[], str]] = {
        **{str(page.relative_to(ROOT)): partial(_with_filled_lines, page) for page in pages},
        **{text: partial(written, text) for text in TEXTS},
        _KEYS: lambda: filled(parameters.page((ROOT / _KEYS).read_text(encoding="utf-8"))),
        _RULES: lambda: rule_graph.as_text(rule_graph.from_snakemake(ROOT)),
    }
    stale = []
    for text, make in makers.items():
        try:
            new = make()
        except (TextError, StepError) as error:
            print(f"texts: {error}", file=sys.stderr)
            return 1
        file = ROOT / text
        if file.read_text(encoding="utf-8") != new:
            stale.append(text)
            if "--check" not in arguments:
                file.write_text(new, encoding="utf-8")
    if stale:
        print("\n".join(stale))
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
