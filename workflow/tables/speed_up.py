"""Speed-up by threads: elapsed seconds on several threads, beside those on one thread of the same solver."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, WALL, Group
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.tables.layout.cells import BLANK, Cell, count, median, missing, number, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.layout.size_rows import flag_notes
from svmrepro.workflow.tables.traffic import BYTES

SHARE = "info.divided_share"


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per experiment and contender, at the largest size.

    Setting of the artefact: ``modelled``, the number of threads that the last column models.
    """
    modelled: int = artefact.settings["modelled"]
    columns = [
        Column("experiment", "problem", prose=True),
        Column("n", "n"),
        Column("solver", "solver", prose=True),
        Column("threads", "threads"),
        Column("seconds", "elapsed seconds"),
        Column("speedup", "speed-up"),
        Column("cpu", "CPU seconds of all threads"),
        Column("share", "parallel fraction of the work"),
        Column("model", "each thread at its cost", group=f"modelled speed-up of {modelled} threads"),
        Column("model_once", "at the cost of one", group=f"modelled speed-up of {modelled} threads"),
        Column("rate", "one thread", group="GB moved per second"),
        Column("rate_modelled", f"{modelled} threads at most", group="GB moved per second"),
    ]
    rows = [
        _row(results, name, contender, modelled)
        for name in artefact.experiments
        for contender in results.experiment(name).contenders.values()
    ]
    notes = [
        "Medians over the repeats; speed-ups are medians of ratios of elapsed seconds within one process. "
        "Threads that wait use CPU time, too.",
        f"Model: T(p) = T(1) (1 - f + f / p) + c (p - 1) for p = {modelled} threads, with the share f of the "
        "work that is divided, as counted (of the CPU time for cutting planes), and the cost of the second "
        "thread, c = T(2) - T(1) (1 - f / 2). At the cost of one: with c in place of c (p - 1). "
        "Processors that share their memory's bandwidth reach less. The last column is what memory and "
        "caches together would have to deliver for the larger of the two; bytes are counted as in the table "
        "of bytes moved, as if there were no caches.",
        *flag_notes(results, artefact.experiments),
    ]
    return table_of(results, artefact, columns, rows, notes=notes)


def speed_up(one: float, two: float, share: float, threads: int) -> tuple[float, float]:
    """Return the modelled speed-up if the cost of a second thread grows with their number, and if not.

    ``one`` and ``two`` are elapsed seconds on one and two threads, ``share`` is the parallel fraction.
    """
    cost = max(0.0, two - one * (1.0 - share / 2.0))
    ideal = one * (1.0 - share + share / threads)
    return one / (ideal + cost * (threads - 1)), one / (ideal + cost)


def _row(results: Results, name: str, contender: Contender, modelled: int) -> Mapping[str, Cell]:
    experiment = results.experiment(name)
    n = experiment.sizes[-1]
    threads, group = contender.threads, results.group(name, contender.label, n)
    cells = {
        "experiment": prose(experiment.title),
        "n": count(n),
        "solver": prose(display_name(contender.solver)),
        "threads": count(threads),
    }
    if group.untimed:
        return {**cells, "seconds": missing(group.untimed)}
    cells |= {"seconds": median(group.values(WALL)), "cpu": median(group.values(CPU))}
    alone = next(
        (
            each.label
            for each in experiment.contenders.values()
            if (each.solver, each.storage) == (contender.solver, contender.storage) and each.threads == 1
        ),
        None,
    )
    if threads == 1 or alone is None:
        rates = _rates(group)
        return {**cells, "rate": median(rates)} if rates else cells
    ratios = results.ratio_values(name, n, alone, contender.label, WALL)
    cells["speedup"] = median(ratios, noun="pair")
    shares, one = group.values(SHARE), results.group(name, alone, n).values(WALL)
    if shares:
        cells["share"] = number(statistics.median(shares))
    if shares and one and threads == 2:
        two = statistics.median(group.values(WALL))
        grows, stays = speed_up(statistics.median(one), two, statistics.median(shares), modelled)
        cells |= {"model": number(grows, digits=2), "model_once": number(stays, digits=2)}
        if rates := _rates(results.group(name, alone, n)):
            cells["rate_modelled"] = number(statistics.median(rates) * stays, digits=2)
    return {"share": BLANK, "model": BLANK, "model_once": BLANK, **cells}


def _rates(group: Group) -> list[float]:
    """Return the gigabytes moved per second of each run for which they are counted."""
    return [
        moved / seconds / 1e9
        for run in group.timed
        if (moved := run.number(BYTES)) and (seconds := run.number(WALL))
    ]
