"""Runs of one experiment on nodes of different hardware: their seconds are never combined."""

import analysis_support as synthetic
import permuted_support as permuted
import pytest
from curve_support import run
from support import rows_of as rows
from svmrepro.workflow.analysis.run_pairs import pairs
from svmrepro.workflow.analysis.runs import CPU, Group, Runs
from svmrepro.workflow.configuration import paths

NAME = "noise-linear"
SLOW = {"cpu": "Slow CPU 1.0 GHz", "cores": 4, "threads": 8, "memory_bytes": 16 * 2**30}


def moved(line, run_id):
    """Return a measurement as from a node of another kind: ten times slower, equal counts."""
    seconds = line["cpu_seconds"]
    return {
        **line,
        "machine": {**line["machine"], **SLOW},
        "run_id": run_id,
        "cpu_seconds": None if seconds is None else 10 * seconds,
    }


def test_sizes_on_another_node_are_in_no_exponent_and_no_ratio(tmp_path):
    alone, mixed = (synthetic.make_config(tmp_path / name, [NAME]) for name in ("alone", "mixed"))
    sizes = alone.papers[synthetic.PAPER].experiments[NAME].sizes
    far = set(sizes[-2:])
    lines = synthetic.records(alone, NAME)
    synthetic.analyse(alone, {NAME: [line for line in lines if line["n"] not in far]})
    lines = [moved(line, "elsewhere") if line["n"] in far else line for line in lines]
    synthetic.analyse(mixed, {NAME: lines}, figures=True)

    def fits(config, quantity):
        every = rows(paths.fits(config, synthetic.PAPER, NAME))
        return [row for row in every if (row["source"], row["quantity"]) == ("measured", quantity)]

    assert fits(mixed, CPU) == fits(alone, CPU) != []  # as if the others had not been measured
    # Counts are the same everywhere.
    assert {int(row["points"]) for row in fits(mixed, "work") if row["contender"] == "smo"} == {len(sizes)}

    ratios = rows(paths.ratios(mixed, synthetic.PAPER, NAME))
    assert {int(row["n"]) for row in ratios if row["quantity"] == CPU} == set(sizes) - far
    assert far & {int(row["n"]) for row in ratios if row["quantity"] == "work"}

    table = paths.table(mixed, synthetic.PAPER, f"timing-{NAME}")
    for row in rows(table["csv"]):
        reason = "not timed: solved on other hardware" if int(row["n"]) in far else ""
        assert row["smo_seconds_reason"] == reason and bool(row["smo_seconds"]) == (not reason)
        assert row["nonbound"] != "" and not (reason and row["ratio"])
    text = table["md"].read_text()
    assert "one kind of hardware only" in text
    assert "runs on [Slow CPU 1.0 GHz, 4 cores, 8 threads, 16 GiB]" in text.replace("\\", "")
    clean = paths.table(alone, synthetic.PAPER, f"timing-{NAME}")["md"].read_text()
    assert "kind of hardware" not in clean


def on(hardware, **fields):
    machine = {f"machine.{key}": value for key, value in hardware.items()}
    return run("one", "smo", 10, **machine, **fields)


def test_seconds_that_are_not_flagged_decide_which_hardware_counts():
    quiet, busy = (on(hardware, flagged=flagged) for hardware, flagged in (({}, "false"), (SLOW, "true")))
    more = [on(SLOW, flagged="true", repeat=repeat) for repeat in range(1, 3)]
    assert Runs([busy, *more, quiet]).timing_conditions == {"one": quiet.conditions}
    assert Runs([on({}, flagged="true"), busy, *more]).timing_conditions == {"one": busy.conditions}


def test_pairs_on_another_node_do_not_hide_those_that_count():
    elsewhere = {f"machine.{key}": value for key, value in SLOW.items()}
    runs = [
        run("one", contender, 10, run_id=contender, repeat=repeat, cpu_seconds=1.0)  # two processes
        for contender in ("smo", "chunking")
        for repeat in range(2)
    ]
    runs += [
        run("one", label, 10, run_id="b", repeat=2, cpu_seconds=9.0, **elsewhere)
        for label in ("smo", "chunking")
    ]
    smo, chunking = (Runs(tuple(runs)).group("one", label, 10) for label in ("smo", "chunking"))
    assert pairs(smo, chunking, CPU) == ([1.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"memory_bytes": 16 * 2**30 - 5_000_000}, True),  # another kernel reserves a little more memory
        ({"cpu": "Other CPU"}, False),
        ({"cores": 2}, False),
        ({"threads": 4}, False),
        ({"memory_bytes": 32 * 2**30}, False),
    ],
)
def test_what_is_the_same_hardware(change, same):
    assert (on({**SLOW, **change}).hardware == on(SLOW).hardware) is same


def test_a_group_elsewhere_has_results_and_no_seconds():
    solved = on(SLOW, cpu_seconds=1.5, iterations=7)
    assert Group((solved,)).values(CPU) == [1.5] and not Group((solved,)).elsewhere
    group = Group((solved,), conditions=("something else", "1"))
    assert group.elsewhere and group.values(CPU) == [] and group.values("iterations") == [7.0]
    assert not group.all_flagged and group.reason == ""
    assert group.untimed == "not timed: solved on other hardware" and Group((solved,)).untimed == ""
    stopped = on(SLOW, status="time_limit", time_limit=5)
    assert Group((stopped,), conditions=("something else", "1")).untimed == "stopped: time limit of 5 s"


def test_the_median_counts_runs_that_the_time_limit_stopped():
    solved = [on(SLOW, cpu_seconds=seconds) for seconds in (1.0, 2.0)]
    stopped = [on(SLOW, status="time_limit", time_limit=9, cpu_seconds=9.0) for _ in range(2)]
    partly = Group((*solved, stopped[0]))
    assert (
        partly.median(CPU) == 2.0 and partly.values(CPU) == [1.0, 2.0] and partly.interval(CPU).ends is None
    )
    mostly = Group((*solved, *stopped))
    assert mostly.median(CPU) is None and not mostly.elsewhere
    assert mostly.untimed == "stopped: time limit in 2 of 4 runs" and mostly.reason == ""
    flagged = [on(SLOW, status="time_limit", cpu_seconds=9.0, flagged="true") for _ in range(2)]
    assert Group((*solved, *flagged)).median(CPU) == 1.5
    disturbed = [on(SLOW, cpu_seconds=8.0, flagged="true") for _ in range(2)]
    assert Group((solved[0], *disturbed, *stopped)).timed == ()  # one run counts, and two were stopped
    other = Group(tuple(on(SLOW, cpu_seconds=1.0) for _ in range(4)))
    assert pairs(other, mostly, CPU) == ([], []) and pairs(other, mostly, "iterations") is not None


def test_permutations_on_another_node_pair_for_counts_alone(tmp_path):
    near = []

    def change(line):
        if line["seed"] >= 6:
            line |= moved(line, "elsewhere")
        elif line["contender"] == "smo":
            near.append(line["cpu_seconds"])

    config = permuted.measured(tmp_path, ["banana"], change, figures=True, only=["smo-pasmo", "working-sets"])
    table = paths.table(config, permuted.PAPER, "smo-pasmo")
    (row,) = [row for row in rows(table["csv"]) if row["experiment"] == "banana"]
    assert (row["pairs"], row["pairs_timed"]) == ("10", "6")
    assert row["pasmo_iterations"] != "" and row["iterations_p"] != ""
    assert float(row["smo_seconds"]) == pytest.approx(sum(near) / len(near))
    assert "one kind of hardware only" in table["md"].read_text()
