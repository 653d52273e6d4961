"""The page of a paper: its verdicts, tables and figures, read from the committed reference runs."""

from __future__ import annotations

import html
import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import yaml
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.configuration import Artefact, Paper, load_config
from svmrepro.workflow.judgement.claims import VERDICTS, after_number, read_verdicts
from svmrepro.workflow.judgement.reference_check import is_read, machine_identity, machine_records
from svmrepro.workflow.site.shown_run import mark

from sitekit.site_links import TextError, Texts

#: The reference run of the first of these scales is shown; the others are named.
SCALES = ("paper", "default", "smoke")

_ALL = "All experiments"
_TEMPLATES = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
_MAIN = re.compile(r"<main>\s*<h1>.*?</h1>(.*)</main>", re.DOTALL)


class PaperPage:
    """
    What the page of one paper holds.

    Parameters
    ----------
    texts
        The page.
    name
        The paper's name in the configuration.
    """

    def __init__(self, texts: Texts, name: str) -> None:
        self._texts, self._root, self.name = texts, texts.root, name
        entry = texts.root / "config" / "experiments" / f"{name}.yaml"
        if not entry.is_file():
            raise TextError(f"there is no paper {name!r}: no {entry.relative_to(texts.root)}")
        texts.read.add(entry)

    # -- for the page -------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The paper as the configuration calls it."""
        return self._paper.title

    @property
    def citation(self) -> str:
        """The paper as CITATION.cff has it."""
        file = self._root / "CITATION.cff"
        self._texts.read.add(file)
        for found in yaml.safe_load(file.read_text(encoding="utf-8"))["references"]:
            author = found["authors"][0]
            if f"{author['family-names'].lower()}{found['year']}" == self.name:
                return _cited(found)
        raise TextError(f"CITATION.cff has no paper {self.name!r}")

    def state(self) -> str:
        """Say which reference run is shown, which others there are, and what is not there."""
        if self._scale is None:
            return (
                "```{admonition} No reference run is committed yet\n:class: warning\n\n"
                f"`{self._command}` measures this paper. Its run, once committed, fills this page.\n```"
            )
        facts = [
            f"This page shows the committed reference run of the **{self._scale}** scale{self._measured()}."
        ]
        if self._scale == "smoke":
            facts.append(
                "Its problems are of toy size: counts and objectives are meaningful, seconds and exponents "
                "are not."
            )
        others = [scale for scale in self._scales if scale != self._scale]
        if others:
            named = " and ".join(f"`results/reference/{scale}/{self.name}/`" for scale in others)
            facts.append(f"{'Others are' if len(others) > 1 else 'Another is'} in {named}.")
        lacking = [artefact.title for artefact in self._paper.artefacts.values() if not self._files(artefact)]
        if lacking:
            facts.append(f"Not in it: {'; '.join(lacking)}.")
        facts.append(f"`{self._command}` repeats it.")
        return "```{admonition} What is shown here\n:class: note\n\n" + "\n".join(facts) + "\n```\n"

    def findings(self) -> str:
        """Return the paper's section of FINDINGS.md, which a paper with a reference run must have."""
        if self._scale is None:
            return ""
        heading, words = self._texts.section("FINDINGS.md", self._short)
        return f"*Written from: {heading.removeprefix(self._short).strip(' ()')}.*\n\n{words}"

    def verdicts(self) -> str:
        """Return the table of the paper's claims, with the verdicts of the run that is shown."""
        if self._scale is None:
            return ""
        file = self._results / "claims.csv"
        claims = read_verdicts(file)
        self._texts.read.update((file, Path(__file__).with_name("claims.html")))
        counts = Counter(claim["verdict"] for claim in claims if claim["counted"] != "no")
        table = _TEMPLATES.get_template("claims.html")
        given = {"verdicts": VERDICTS, "mark": mark, "after_number": after_number}
        return _raw(table.render(claims=claims, counts=counts, **given))

    def artefacts(self) -> str:
        """Return every table and figure of the run that is shown, experiment by experiment."""
        groups: dict[str, list[Artefact]] = {}
        for artefact in self._paper.artefacts.values():
            if artefact.kind != "claims":
                groups.setdefault(self._group(artefact), []).append(artefact)
        parts = []
        for title in sorted(groups, key=lambda title: title != _ALL):
            # Figures first: they show at a glance what their tables give in numbers.
            shown = sorted(groups[title], key=lambda artefact: artefact.form != "figure")
            made = [self._shown(artefact) for artefact in shown if self._files(artefact)]
            if made:
                parts.append("\n\n".join([f"### {title}", *made]))
        return "\n\n".join(parts)

    # -- the run that is shown ----------------------------------------------------------------------

    @property
    def _short(self) -> str:
        """Author and year, with which its section of FINDINGS.md begins."""
        return self.title.partition(",")[0]

    @cached_property
    def _scales(self) -> list[str]:
        folder = self._root / "results" / "reference"
        return [scale for scale in SCALES if (folder / scale / self.name / "claims.csv").is_file()]

    @property
    def _scale(self) -> str | None:
        return self._scales[0] if self._scales else None

    @cached_property
    def _paper(self) -> Paper:
        return load_config({"scale": self._scale or SCALES[0], "papers": [self.name]}).papers[self.name]

    @property
    def _results(self) -> Path:
        return self._root / "results" / "reference" / str(self._scale) / self.name

    @property
    def _command(self) -> str:
        scale = self._scale or SCALES[0]
        return f"./run {self.name}" + ("" if scale == "default" else f" --config scale={scale}")

    def _measured(self) -> str:
        """Say where the run was made, if that was on one machine."""
        file = self._results / "measurements.parquet"
        self._texts.read.add(file)
        machine = machine_identity(machine_records(read_runs([file], is_read)))
        known = [("machine.cpu", ""), ("machine.python", "Python "), ("machine.versions.numba", "numba ")]
        words = [f"{before}{machine[key]}" for key, before in known if machine.get(key)]
        return f" ({', '.join(words)})" if words else ""

    def _files(self, artefact: Artefact) -> dict[str, Path]:
        """Return the files of an artefact by their ending, as far as the run that is shown has them."""
        if self._scale is None:
            return {}
        if artefact.form == "table":
            found = {
                "html": self._results / f"{artefact.name}.html",
                "csv": self._results / f"{artefact.name}.csv",
            }
        else:
            folder = self._root / "figures" / "reference" / self._scale / self.name
            found = {ending: folder / f"{artefact.name}.{ending}" for ending in ("png", "svg")}
        return found if all(path.is_file() for path in found.values()) else {}

    def _group(self, artefact: Artefact) -> str:
        if len(artefact.experiments) == 1 and artefact.measured:
            return self._paper.experiments[artefact.experiments[0]].title
        return _ALL

    # -- what is shown ------------------------------------------------------------------------------

    def _shown(self, artefact: Artefact) -> str:
        files = self._files(artefact)
        self._texts.read.update(files.values())
        if artefact.form == "figure":
            path, full = (self._texts.path(files[ending]) for ending in ("png", "svg"))
            return (
                f"```{{figure}} {path}\n:alt: {artefact.title}\n:class: measured\n\n"
                f"{artefact.title}. {artefact.caption} [As vectors]({full})\n```"
            )
        content = _MAIN.search(files["html"].read_text(encoding="utf-8"))
        if content is None:
            raise TextError(f"{files['html']}: no table in it")
        # Second-level headings would appear in the table of contents of the page.
        body = re.sub(r"<(/?)h2>", r"<\1h5>", content[1])
        title = html.escape(artefact.title)
        numbers = f"{{.numbers}}\n[As numbers]({self._texts.path(files['csv'])})"
        return _raw(f'<div class="measured"><p class="title">{title}</p>{body}</div>') + f"\n\n{numbers}"


def _raw(page: str) -> str:
    """Return HTML as a block of a Markdown page."""
    return f"``````{{raw}} html\n{page}\n``````"


def _cited(reference: dict[str, Any]) -> str:
    authors = ", ".join(
        f"{author['given-names']} {author['family-names']}" for author in reference["authors"]
    )
    where = [reference.get("collection-title"), reference.get("journal")]
    where += [reference[key]["name"] for key in ("conference", "institution") if key in reference]
    where = [*filter(None, [*where, reference.get("number")])]
    year = str(reference["year"])
    if not any(year in word for word in where):
        where.append(year)
    return f"{authors}, *{reference['title']}*, {', '.join(where)}."
