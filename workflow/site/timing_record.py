"""What the measurements of a run recorded of their machine and of noise, and where it matters."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from svmrepro.workflow.number_text import plural
from svmrepro.workflow.result_files.measurement_columns import machine_label
from svmrepro.workflow.site.records import Record, nested
from svmrepro.workflow.surroundings.flagged_runs import STEAL

MANY_FLAGGED = 0.1
"""Share of flagged measurements above which a run is called noisy."""

FREQUENCY_SPREAD = 1.1
"""Ratio of the highest and lowest frequency above which it is called unsteady."""

_MACHINE = (
    *("cpu", "cpu_id", "cores", "threads", "memory_bytes", "os", "python"),
    *(f"versions.{name}" for name in ("numpy", "scipy", "numba", "llvmlite", "scikit-learn")),
    *("blas", "commit"),
)
_MAY_DIFFER = ("commit",)


@dataclass(frozen=True)
class Fact:
    """Something that was recorded: name, value in words, and a warning, "" if it does not matter."""

    name: str
    value: str
    warning: str = ""


@dataclass(frozen=True)
class Load:
    """Noise in one experiment: measurements, flagged ones, and what they recorded; None: not recorded.

    ``throttled_seconds`` is a sum, ``steal`` and ``load_before`` are the largest values.
    """

    measurements: int
    flagged: int
    steal: float | None
    throttled_seconds: float | None
    load_before: float | None


def timed_records(records: Iterable[Record]) -> list[Record]:
    """Return the records of runs that took place, and whose line tells more than counts."""
    return [record for record in records if record.status != "not_run" and "machine" in record.fields]


def machine_facts(records: Sequence[Record]) -> list[Fact]:
    """Return the hardware and the versions that some measurements recorded."""
    facts = []
    for key in _MACHINE:
        count = _count(records, f"machine.{key}", _gigabytes if key == "memory_bytes" else str)
        if count:
            several = len(count) > 1 and key not in _MAY_DIFFER
            warning = "Measurements of several kinds: their seconds are not combined." if several else ""
            facts.append(Fact(machine_label(key), _listed(count), warning))
    return facts


def noise_facts(records: Sequence[Record]) -> list[Fact]:
    """Return what some measurements recorded of noise."""
    if not records:
        return []
    flagged = [record for record in records if record.flagged]
    share = len(flagged) / len(records)
    # Many flagged runs where only counts matter must not discredit the seconds of all the others.
    where, most = next(iter(_papers(flagged).most_common(1)), ("", 0))
    mostly = f", {most:,} of them in {where}" if len(_papers(records)) > 1 and 2 * most > len(flagged) else ""
    protocols = Counter(str(record.fields.get("protocol") or "1") for record in records)
    loads = _values(records, "load_before")
    facts = [
        Fact(
            "flagged for other load",
            f"{len(flagged):,} of {plural(len(records), 'measurement')} ({100 * share:.1f} %){mostly}",
            "Many seconds are upper bounds." if share > MANY_FLAGGED else "",
        ),
        Fact(
            "protocol of timing",
            _listed(protocols),
            "Their seconds are not combined." if len(protocols) > 1 else "",
        ),
    ]
    if loads:
        facts.append(
            Fact(
                "load of the machine before a run, over a minute",
                f"median {statistics.median(loads):.2f}, largest {max(loads):.2f}",
            )
        )
    recorded = [record for record in records if record.fields.get("noise")]
    if len(recorded) < len(records):
        facts.append(
            Fact(
                "with the state of the processor",
                f"{len(recorded):,} of {plural(len(records), 'measurement')}",
            )
        )
    return [*facts, *_processor(recorded), *_limits(recorded)]


def _papers(records: Iterable[Record]) -> Counter[str]:
    return Counter(str(record.fields.get("paper")) for record in records)


def load(records: Sequence[Record]) -> Load:
    """Return the noise in some measurements."""
    return Load(
        len(records),
        sum(bool(record.flagged) for record in records),
        max(_values(records, "noise.steal"), default=None),
        sum(found) if (found := _values(records, "noise.throttled_seconds")) else None,
        max(_values(records, "load_before"), default=None),
    )


def _processor(records: Sequence[Record]) -> list[Fact]:
    frequencies = _values(records, "noise.frequency_mhz")
    # Machines of several kinds have several frequencies, which is no change during the run.
    one = len(_count(records, "machine.cpu_id", str)) < 2
    unsteady = one and bool(frequencies) and max(frequencies) > FREQUENCY_SPREAD * min(frequencies)
    governors = _count(records, "noise.governor", str)
    turbo = _count(records, "noise.turbo", lambda on: "on" if on else "off")
    return [
        Fact(
            "frequency",
            _range(frequencies, "MHz"),
            "It changed during the run; compare counted work as well." if unsteady else "",
        ),
        Fact(
            "governor",
            _listed(governors) or _UNREAD,
            "The frequency follows the load." if governors.keys() - {"performance"} else "",
        ),
        Fact(
            "turbo",
            _listed(turbo) or _UNREAD,
            "The frequency depends on heat and on the other cores." if "on" in turbo else "",
        ),
        Fact("ended on processors", _listed(_count(records, "noise.cpu", str)) or _UNREAD),
    ]


def _limits(records: Sequence[Record]) -> list[Fact]:
    steal = _values(records, "noise.steal")
    above = sum(value > STEAL for value in steal)
    throttled = _values(records, "noise.throttled_seconds")
    stopped = [value for value in throttled if value > 0]
    cpus = _count(records, "noise.cgroup_cpus", lambda value: f"{value:g}")
    memory = _count(records, "noise.cgroup_memory_bytes", _gigabytes)
    facts = [
        Fact(
            "taken by the hypervisor for other machines",
            f"at most {100 * max(steal):.1f} % of the time in {len(steal):,} runs of at least 0.25 s; "
            f"above {100 * STEAL:.0f} % in {above or 'none'}"
            if steal
            else _UNREAD,
            "These runs are flagged." if above else "",
        ),
        Fact("limit on processors (cgroup)", _listed(cpus) or "none"),
        Fact(
            "stopped by that limit",
            (f"{sum(stopped):.2g} s in {plural(len(stopped), 'run')}" if stopped else "never")
            if throttled
            else _UNREAD,
            "The limit is too low for undisturbed seconds." if stopped else "",
        ),
        Fact("limit on memory (cgroup)", _listed(memory) or "none"),
    ]
    counted = _values(records, "noise.instructions")
    return [*facts, Fact("instructions counted in", plural(len(counted), "run"))] if counted else facts


_UNREAD = "not readable on this system"


def _values(records: Iterable[Record], key: str) -> list[float]:
    return [value for record in records if (value := nested(record.fields, key)) is not None]


def _count(records: Iterable[Record], key: str, say: Callable[[Any], str]) -> Mapping[str, int]:
    return Counter(say(value) for record in records if (value := nested(record.fields, key)) is not None)


def _listed(count: Mapping[str, int]) -> str:
    """Name a value, or several with the number of measurements of each, the most frequent first."""
    if len(count) < 2:
        return "".join(count)
    ordered = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{value} ({number:,})" for value, number in ordered)


def _range(values: Sequence[float], unit: str) -> str:
    if not values:
        return _UNREAD
    low, high = f"{min(values):,.0f}", f"{max(values):,.0f}"
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"


def _gigabytes(size: float) -> str:
    return f"{size / 2**30:.1f} GiB"
