"""A run's folder: its papers with their claims, tables, figures and measurements.

``results/<scale>`` of any run, ``results/reference/<scale>``, or a folder elsewhere with the same content.
The figures are in ``figures/`` beside ``results/``, or within the folder. Titles and captions come from the
configuration that the run left in its folder, else from this project's own.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree

import msgspec
from svmrepro.workflow.analysis.fits import MEASURED, PAPER, read_fits
from svmrepro.workflow.analysis.results import display_name, short_commit
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration import Artefact, Config
from svmrepro.workflow.configuration.of_folder import config_of
from svmrepro.workflow.errors import StepError, one_line, reading_table
from svmrepro.workflow.journal.journal_line import OPTIMAL
from svmrepro.workflow.judgement.claims import COUNTED, STAND_IN, STAND_IN_FAILS, VERDICTS, read_verdicts
from svmrepro.workflow.number_text import plural, signed
from svmrepro.workflow.result_files.field_types import MOST
from svmrepro.workflow.site.records import Record, nested, packed_records, parse_json, read_text, run_records
from svmrepro.workflow.site.run_folders import address, shown_papers
from svmrepro.workflow.site.tables_from_html import read_table
from svmrepro.workflow.site.timing_record import timed_records
from svmrepro.workflow.statistics import FEWEST_SIZES, Fit
from svmrepro.workflow.tables.claims import COLUMNS, MARKS
from svmrepro.workflow.tables.layout.model import Table

_HIDDEN = re.compile(
    r"""<!(ENTITY|ATTLIST)|<\?xml-stylesheet|<\?xml\s[^>]*encoding\s*=\s*["'](?!utf-8["'])""", re.IGNORECASE
)
"""Parts of an SVG by which a browser may see other elements than the parser."""

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"

_DRAWN = frozenset(
    _SVG + name
    for name in (
        *("svg", "g", "defs", "style", "metadata", "title", "path", "rect", "clipPath", "use", "image"),
        *("pattern", "text", "tspan"),
    )
)
"""Elements of the pictures that matplotlib writes."""

_METADATA = re.compile(
    r"\{(http://www\.w3\.org/1999/02/22-rdf-syntax-ns#|http://purl\.org/dc/elements/1\.1/"
    r"|http://creativecommons\.org/ns#)\}"
)
"""Beginning of the names in the metadata that matplotlib writes."""

_FROM_ELSEWHERE = re.compile(r"url\((?!#)|@|\\", re.IGNORECASE)
"""Parts of a style that load something, or hide that they do."""

_CLAIM_FIELDS = frozenset(column.key for column in COLUMNS)


def mark(verdict: str) -> str:
    """Return the class of a verdict's colour."""
    return {**MARKS, STAND_IN: "stand", STAND_IN_FAILS: "bad-stand"}.get(verdict, "none")


_Number = Annotated[float, msgspec.Meta(ge=-MOST, le=MOST)]


class ShownFinding(msgspec.Struct):
    """A finding of claims.json, as far as a page shows it."""

    label: str
    verdict: str
    value: _Number | None
    low: _Number | None
    high: _Number | None
    paper: _Number | None
    experiment: str | None = None
    n: int | None = None
    contenders: Sequence[str] = ()
    reason: str | None = None
    single: bool = False


class _Judged(msgspec.Struct):
    id: str
    findings: Sequence[ShownFinding] = ()


class _ClaimsFile(msgspec.Struct):
    claims: Sequence[_Judged] = ()


class _Drawn(msgspec.Struct):
    """The numbers of a figure, as `svmrepro.workflow.figures.drawn_data` wrote them."""

    panels: Sequence[Any] = ()
    notes: Sequence[str] = ()
    legend: Sequence[Any] = ()


@dataclass(frozen=True)
class ShownClaim:
    """A claim with its verdict and its evidence, as far as the folder has them."""

    fields: Mapping[str, str]  # a row of claims.csv
    findings: Sequence[ShownFinding] = ()

    def __getattr__(self, name: str) -> str:
        """Return a column of the row; "" if the run that wrote it had no such column yet."""
        if name not in _CLAIM_FIELDS:
            raise AttributeError(f"claims have no column {name!r}")
        return self.fields.get(name, "")

    @property
    def rule(self) -> str:
        """The rule, with minus signs."""
        return signed(self.fields.get("rule", ""))

    @property
    def earlier_rule(self) -> str:
        """The first rule, if it was another one, with minus signs."""
        return signed(self.fields.get("earlier_rule", ""))

    @property
    def mentioned(self) -> set[str]:
        """Words of the measured text that may name experiments."""
        return set(re.findall(r"[A-Za-z0-9][\w-]*", self.fields["measured"]))

    @property
    def experiments(self) -> list[str]:
        """The experiments of the findings; empty if they are unknown."""
        return list(dict.fromkeys(each.experiment for each in self.findings if each.experiment))

    @property
    def mark(self) -> str:
        """Class of the verdict's colour."""
        return mark(self.fields["verdict"])

    @property
    def tallied(self) -> bool:
        """Whether tallies count the claim: not if it checks the program or cannot fail."""
        return self.fields["counted"] == "yes"


@dataclass(frozen=True)
class ShownFigure:
    """A figure: its picture and, if the run wrote them, the numbers that it draws."""

    name: str
    title: str
    caption: str
    picture: Path
    experiments: tuple[str, ...]
    panels: Sequence[Any] = ()
    notes: Sequence[str] = ()
    legend: Sequence[Any] = ()


@dataclass(frozen=True)
class ShownTable:
    """A table with its file of numbers."""

    name: str
    content: Table
    csv: Path


@dataclass(frozen=True)
class ShownExperiment:
    """An experiment with its measurements and fitted lines."""

    name: str
    title: str
    records: Sequence[Record]
    laws: Sequence[Mapping[str, Any]] = ()
    axis: str = ""  # C, C_total or eps; "" if none is known

    @property
    def drawn_laws(self) -> Sequence[Mapping[str, Any]]:
        """The fitted lines, if the records are drawn over their size."""
        sizes, points = ({getattr(each, key) for each in self.records} for key in ("n", "point"))
        return self.laws if len(points) == 1 < len(sizes) else ()

    @property
    def count(self) -> str:
        """How many measurements there are, and how many runs did not take place."""
        absent = sum(record.status == "not_run" for record in self.records)
        said = plural(len(self.records) - absent, "measurement")
        return f"{said}, {absent:,} not run" if absent else said

    @property
    def contenders(self) -> list[ShownContender]:
        """The contenders, in the order of the records."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            if record.status != "not_run":
                found.setdefault(record.contender, []).append(record)
        exponents = {law["contender"]: law["exponent"] for law in self.laws if not law["paper"]}
        return [ShownContender(label, each, exponents.get(label)) for label, each in found.items()]


@dataclass(frozen=True)
class ShownContender:
    """A contender's measurements in one experiment, and the exponent of its seconds, if it was fitted."""

    label: str
    records: Sequence[Record]
    exponent: float | None

    @property
    def name(self) -> str:
        """Its name in tables."""
        return display_name(self.label)

    @property
    def solver(self) -> str:
        """The solver's name in the registry, or ""."""
        return str(self.records[0].fields.get("solver") or "")

    @property
    def dataset(self) -> str:
        """The name of the data set, or ""."""
        return str(self.records[0].fields.get("dataset") or "")

    @property
    def sizes(self) -> list[int]:
        """The sizes, increasing."""
        return sorted({record.n for record in self.records})

    @property
    def solved(self) -> int:
        """How many measurements ended with a certified solution."""
        passed = [record for record in self.records if nested(record.fields, "certificate.passed")]
        return sum(record.status == OPTIMAL for record in passed)


class _Tallied:
    """Claims, and the tally of their verdicts."""

    claims: Any  # a sequence of ShownClaim

    @property
    def tally(self) -> list[tuple[str, str, int]]:
        """Verdict, class and number of the claims with each verdict that occurs."""
        count = Counter(claim.verdict for claim in self.claims if claim.tallied)
        return [(verdict, mark(verdict), count[verdict]) for verdict in VERDICTS if verdict in count]

    @property
    def counted(self) -> str:
        """How many claims the tally counts, and how many it leaves out."""
        aside = sum(not claim.tallied for claim in self.claims)
        said = plural(len(self.claims) - aside, "claim")
        return f"{said}, and {aside:,} not counted" if aside else said


@dataclass(frozen=True)
class ShownPaper(_Tallied):
    """What a run has of one paper."""

    name: str
    title: str
    claims: Sequence[ShownClaim]
    tables: Sequence[ShownTable]
    figures: Sequence[ShownFigure]
    experiments: Mapping[str, ShownExperiment]
    provenance: str

    @property
    def short(self) -> str:
        """Author and year."""
        return self.title.partition(",")[0]

    @property
    def cover(self) -> ShownFigure | None:
        """The figure that is legible when small: the first one with the fewest panels."""
        return min(self.figures, key=lambda figure: len(figure.panels) or 99, default=None)

    @property
    def records(self) -> list[Record]:
        """All records of the paper."""
        return [record for each in self.experiments.values() for record in each.records]


@dataclass
class ShownRun(_Tallied):
    """A run, read from its folder."""

    folder: Path
    slug: str
    reference: bool
    # Tells it from another run with the same title.
    name: str = ""

    @cached_property
    def config(self) -> Config | None:
        """The configuration of the run, else this project's at its scale; None if neither can be read."""
        return config_of(self.folder, self.scale, shown_papers(self.folder))

    @cached_property
    def scale(self) -> str:
        """Name of the scale."""
        return _measured_scale(self.folder) or self.folder.name

    @property
    def title(self) -> str:
        """Name of the run in a sentence."""
        kind = f"{'Reference' if self.reference else 'Run'}, {self.scale} scale"
        return f"{kind}: {self.name}" if self.name else kind

    @cached_property
    def ended(self) -> str:
        """Time of the last measurement (ISO 8601, UTC), or ""."""
        return max((record.fields.get("time") or "" for record in self.records), default="")

    @property
    def measured(self) -> str:
        """Date of the last measurement, or ""."""
        return self.ended[:10]

    @cached_property
    def machine(self) -> str:
        """The processor or processors, the one of most measurements first, or ""."""
        measured = [str((record.fields.get("machine") or {}).get("cpu", "")) for record in self.records]
        return ", ".join(filter(None, dict(Counter(measured).most_common())))

    @cached_property
    def origin(self) -> str:
        """Version and commit of this project that measured, or how many did; "" if unknown."""
        machines = [record.fields.get("machine") or {} for record in self.records]
        versions = {str(found) for each in machines if (found := nested(each, "versions.svmrepro"))}
        commits = {short_commit(each["commit"]) for each in machines if each.get("commit")}
        named = {"version": sorted(versions), "commit": sorted(commits)}
        return ", ".join(
            f"{what} {found[0]}" if len(found) == 1 else plural(len(found), what)
            for what, found in named.items()
            if found
        )

    @cached_property
    def papers(self) -> list[ShownPaper]:
        """The papers, in the order of the configuration."""
        known = list(self.config.papers) if self.config else []
        order = {name: place for place, name in enumerate(known)}
        found = sorted(shown_papers(self.folder), key=lambda name: (order.get(name, len(order)), name))
        return [self._paper(name) for name in found]

    @property
    def claims(self) -> list[ShownClaim]:
        """The claims of all papers."""
        return [claim for paper in self.papers for claim in paper.claims]

    @cached_property
    def records(self) -> list[Record]:
        """The measurements of all papers, as far as the folder has them."""
        return timed_records(record for paper in self.papers for record in paper.records)

    @cached_property
    def figures_folder(self) -> Path | None:
        """The folder of the figures, or None."""
        parts = list(self.folder.resolve().parts)
        places = [self.folder / "figures"]
        places += [
            Path(*parts[:place], "figures", *parts[place + 1 :])
            for place in reversed(range(len(parts)))
            if parts[place] == "results"
        ][:1]
        # Only a run's own configuration knows where else its figures are.
        if self.config and (self.folder / ".config").is_dir():
            places.append(self.config.figures_dir / self.config.scale)
        return next((place for place in places if place.is_dir()), None)

    def _paper(self, name: str) -> ShownPaper:
        known = self.config.papers.get(name) if self.config else None
        folder = self.folder / name
        artefacts = known.artefacts if known else {}
        files = _ordered(folder.glob("*.html"), artefacts)
        pages = {path.stem: read_table(path) for path in files}
        foot = next((page.provenance for page in pages.values() if page.provenance), "")
        laws = _laws(folder / "fits.csv")
        packed = {} if any(folder.glob("*/runs")) else packed_records(self.folder, name)
        experiments = {}
        for each in self._experiments(name, list(known.experiments) if known else [], packed):
            if records := run_records(self.folder, name, each) or packed.get(each):
                configured = known.experiments.get(each) if known else None
                title, axis = (configured.title, configured.axis or "") if configured else (each, "")
                over_n = all(record.point is None for record in records)
                own = laws.get(each, ()) if over_n else ()  # else fitted over the axis
                experiments[each] = ShownExperiment(each, title, records, own, axis)
        repeated = Counter(each.title for each in experiments.values())
        experiments = {
            each.name: replace(each, title=f"{each.title}: {each.name}") if repeated[each.title] > 1 else each
            for each in experiments.values()
        }
        return ShownPaper(
            name=name,
            title=known.title if known else foot.partition(";")[0] or name,
            claims=_claims(folder),
            tables=[
                ShownTable(stem, page, folder / f"{stem}.csv")
                for stem, page in pages.items()
                if stem != "claims" and page.sections
            ],
            figures=self._figures(name, artefacts),
            experiments=experiments,
            provenance=_whole_provenance(foot, experiments.values()),
        )

    def _experiments(self, paper: str, known: Sequence[str], packed: Iterable[str]) -> list[str]:
        inside = set(packed)
        inside |= {path.parent.name for path in (self.folder / paper).glob("*/runs")}
        return [*(name for name in known if name in inside), *sorted(inside.difference(known))]

    def _figures(self, paper: str, known: Mapping[str, Artefact]) -> list[ShownFigure]:
        if self.figures_folder is None:
            return []
        found = []
        for path in _ordered((self.figures_folder / paper).glob("*.svg"), known):
            if not _is_safe(path):
                raise StepError(f"{path}: holds a script, or what may hide one; no figure of svmrepro does")
            artefact, file = known.get(path.stem), path.with_suffix(".json")
            drawn = parse_json(read_text(file), str(file), _Drawn) if file.is_file() else _Drawn()
            found.append(
                ShownFigure(
                    name=path.stem,
                    title=artefact.title if artefact else path.stem.replace("-", " "),
                    caption=artefact.caption if artefact else "",
                    picture=path,
                    experiments=artefact.experiments if artefact and artefact.measured else (),
                    panels=drawn.panels,
                    notes=drawn.notes,
                    legend=drawn.legend,
                )
            )
        return found


def _whole_provenance(foot: str, experiments: Iterable[ShownExperiment]) -> str:
    """Return the line below a table with the numbers of the whole paper in place of that table's."""
    parts = re.split(r"; (?=[\d,]+ measurement)", foot.rstrip("."))[:1]
    records = timed_records(record for each in experiments for record in each.records)
    if records:
        flagged = sum(bool(record.flagged) for record in records)
        parts.append(f"{plural(len(records), 'measurement')}, {flagged:,} flagged for other load")
    return f"{'; '.join(parts)}." if foot else ""


def read_folder(folder: Path, slug: str = "") -> ShownRun:
    """Open a run's folder; one that holds no results raises a StepError."""
    shown_papers(folder)
    reference = "reference" in (folder.parent.name, folder.name)
    return ShownRun(folder, slug or address(folder), reference)


def _measured_scale(folder: Path) -> str:
    """Return the scale of a run's first measurement; the folder of an archive is not named by it."""
    for path in sorted(folder.glob("*/measurements.csv")):
        with reading_table(path), path.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                return row.get("scale") or ""
    return ""


def _ordered(paths: Iterable[Path], known: Iterable[str]) -> list[Path]:
    """Sort files by the order of the artefacts of their names, unknown ones last."""
    place = {name: number for number, name in enumerate(known)}
    return sorted(paths, key=lambda path: (place.get(path.stem, len(place)), path.stem))


def _claims(folder: Path) -> list[ShownClaim]:
    path, details = folder / "claims.csv", folder / "claims.json"
    if not path.is_file():
        return []
    found = {}
    if details.is_file():
        judged = parse_json(read_text(details), str(details), _ClaimsFile).claims
        found = {claim.id: claim.findings for claim in judged}
    claims = [ShownClaim(row, found.get(row["id"], ())) for row in read_verdicts(path)]
    # What the paper is known for comes first.
    order = {kind: place for place, kind in enumerate(COUNTED)}
    return sorted(claims, key=lambda claim: order.get(claim.kind, len(order)))


def _is_safe(picture: Path) -> bool:
    """Return whether a picture runs no script when it is opened by itself."""
    text = read_text(picture)
    if _HIDDEN.search(text):
        return False
    try:
        parts = ElementTree.fromstring(text).iter()
    except ElementTree.ParseError:
        return False
    return all(_is_drawn(part) for part in parts)


def _is_drawn(part: ElementTree.Element) -> bool:
    """Return whether an element of a picture is one that matplotlib writes, with links into the picture."""
    if _METADATA.match(part.tag):
        return all(_METADATA.match(name) for name in part.attrib)
    if part.tag not in _DRAWN or (part.tag == f"{_SVG}style" and _FROM_ELSEWHERE.search(part.text or "")):
        return False
    for name, value in part.attrib.items():
        if name in ("href", _LINK):
            if not value.startswith(("#", "data:image/png;")):
                return False
        elif name.lower().startswith(("{", "on")) or _FROM_ELSEWHERE.search(value):
            return False
    return True


def _laws(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the fitted lines of seconds, measured and of the paper, by experiment."""
    fits: Mapping[tuple[str, str, str, str], Fit] = read_fits([path]) if path.is_file() else {}
    found: dict[str, list[dict[str, Any]]] = {}
    for (experiment, contender, quantity, source), fit in fits.items():
        if quantity != CPU or source not in (MEASURED, PAPER):
            continue
        if fit.exponent is not None and fit.points >= FEWEST_SIZES:
            ends = [fit.n_min, fit.n_max]
            try:
                seconds = [*map(fit.predict, ends)]
            except (OverflowError, ValueError) as error:
                raise StepError(f"{path}: {experiment}, {contender}: {one_line(error)}") from None
            law = {"contender": contender, "paper": source == PAPER, "exponent": fit.exponent.value}
            found.setdefault(experiment, []).append(law | {"n": ends, "seconds": seconds})
    return found
