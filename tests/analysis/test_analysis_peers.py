"""Our solvers and others on the same problems: the table and the figure."""

from dataclasses import replace

import numpy as np
import pytest
from curve_support import experiment, results, run, with_ratios
from svmrepro.workflow.analysis import fits
from svmrepro.workflow.analysis.fits import compare_contenders
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.figures import performance_profile, seconds_objectives, seconds_ratios, style
from svmrepro.workflow.statistics.intervals import PROCESS_SPREAD
from svmrepro.workflow.tables import contenders, peers

CONTENDERS = {
    "smo-newton": Contender("smo-newton", "smo-newton", time_limit=30.0),
    "libsvm-dense": Contender("libsvm-dense", "libsvm", time_limit=30.0),
    "onedal-dense": Contender("onedal-dense", "onedal", time_limit=30.0),
    "mine": Contender("mine", "my_package.training:train", time_limit=30.0),
}
MISSING = {
    "status": "not_run",
    "reason": "not installed: scikit-learn-intelex (extra peers)",
    "cpu_seconds": "",
}
LATE = {"status": "time_limit", "reason": "passed its time limit of 30 s", "time_limit": 30.0}
CERTIFICATE = {"certificate.gap": 0.5, "certificate.primal": 100.0, "certificate.max_violation": 4e-4}


def runs():
    for n in (1000, 2000, 4000):
        for repeat in range(3):
            common = {"repeat": repeat, **CERTIFICATE}
            yield run("set", "smo-newton", n, cpu_seconds=0.1 * n, **common)
            yield run("set", "libsvm-dense", n, cpu_seconds=0.5 * n, package="scikit-learn 1.9", **common)
            if n < 4000:
                yield run("set", "mine", n, cpu_seconds=0.2 * n, package="my-package 1.2", **common)
        yield run("set", "onedal-dense", n, **MISSING)
    yield run("set", "mine", 4000, package="my-package 1.2", **LATE)


def found():
    return with_ratios(results(list(runs()), replace(experiment("set"), contenders=CONTENDERS)), "set")


def artefact(form):
    return Artefact("peers", "peers", form, ("set",), "Peers", "", {"baseline": "smo-newton"})


def test_each_solver_has_seconds_ratio_certificate_and_package():
    problems, solvers = peers.build(found(), artefact("table")).sections
    ours, libsvm, mine, onedal = problems.rows  # what is not installed comes last
    assert (ours["n"].value, ours["seconds"].value, ours["ratio"].text) == (4000, 400.0, "–")
    assert (libsvm["ratio"].value, libsvm["gap"].value, libsvm["violation"].value) == (5.0, 0.005, 4e-4)
    assert onedal["seconds"].reason == "not installed: scikit-learn-intelex (extra peers)"
    assert (mine["n"].value, mine["ratio"].value) == (2000, 2.0)
    assert mine["beyond"].text == "n = 4,000: stopped: time limit of 30 s"
    assert [row["package"].text for row in solvers.rows] == [
        "this project",
        "scikit-learn 1.9",
        "not installed: scikit-learn-intelex (extra peers)",
        "my-package 1.2",
    ]
    assert [row["solved"].text for row in solvers.rows] == ["1 of 1", "1 of 1", "0 of 1", "0 of 1"]
    assert solvers.rows[1]["ratio"].value == 5.0
    assert solvers.rows[3]["description"].text == CONTENDERS["mine"].solver


def test_the_note_on_promises_names_a_users_solver():
    own = {**CONTENDERS, "liblinear": Contender("liblinear", "liblinear", time_limit=30.0)}
    several = with_ratios(results(list(runs()), replace(experiment("set"), contenders=own)), "set")
    note = next(note for note in peers.build(several, artefact("table")).notes if "does not bound" in note)
    assert "Mine" in note.partition("the KKT violation (")[2].partition(")")[0]


def test_a_solver_that_did_not_stop_was_not_stopped_by_itself():
    reason = "did not stop at its limit of 30 s"
    killed = run("set", "mine", 8000, **{**LATE, "reason": reason, "cpu_seconds": ""})
    made = with_ratios(results([*runs(), killed], replace(experiment("set"), contenders=CONTENDERS)), "set")
    assert made.group("set", "mine", 8000).briefly == f"failed: {reason}"


def test_the_legend_names_solvers_of_which_something_is_drawn():
    lost = [run("set", "onedal-dense", 1000, status="error", reason="ValueError", cpu_seconds="")]
    lost += [run("set", "mine", 1000, **LATE)]
    solved = [run("set", "smo-newton", 1000, cpu_seconds=1.0, **CERTIFICATE)]
    early = [run("set", "mine", 1000, **{**LATE, "reason": "passed a limit of its own (time_limit)"})]
    described = replace(experiment("set"), contenders=CONTENDERS)
    for other, more in ((lost, ["Mine", "time limit"]), (early, [])):
        figure = seconds_objectives.build(results(solved + other, described), artefact("figure"))
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["SMO-Newton", *more]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("time_limit", "passed a limit of its own (time_limit)"),
        ("memory_limit", "not run: needs more than the solver's own limit of memory"),
    ],
)
def test_a_limit_of_the_solvers_own_is_not_called_that_of_the_run(status, said):
    limits = {"time_limit": 30.0, "memory_limit_mb": 9.0, "cpu_seconds": 0.01}
    early = run("set", "mine", 1000, status=status, reason=f"passed a limit of its own ({status})", **limits)
    assert results([early], experiment("set")).group("set", "mine", 1000).reason == said


def test_there_is_a_figure_with_and_without_measurements():
    seconds_ratios.build(found(), artefact("figure"))
    empty = results([], replace(experiment("set"), contenders=CONTENDERS))
    problems, _ = peers.build(empty, artefact("table")).sections
    assert {row["seconds"].text for row in problems.rows} == {"not run: no measurement"}
    seconds_ratios.build(empty, artefact("figure"))


def test_a_solver_that_solved_nothing_has_its_reason_and_no_mark_in_the_legend():
    few = {**CONTENDERS, "mine": replace(CONTENDERS["mine"], largest=2000)}
    lines = [each for each in runs() if each.contender != "mine"]
    lines.append(run("set", "mine", 1000, status="uncertified"))
    made = with_ratios(results(lines, replace(experiment("set"), contenders=few)), "set")
    figure = seconds_ratios.build(made, artefact("figure"))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SMO-Newton = 1", "LIBSVM, dense"]
    assert "No timing: certificate failed: Mine (Set)" in figure.axes[0].get_xlabel()


def test_whiskers_of_seconds_end_within_the_panel():
    lines = [
        run("set", "smo-newton", n, repeat=repeat, cpu_seconds=seconds, **CERTIFICATE)
        for n in (1000, 2000)
        for repeat, seconds in enumerate((1.0, 1.1, 9.0))
    ]
    made = results(lines, replace(experiment("set"), contenders=CONTENDERS))
    low, high = seconds_objectives.build(made, artefact("figure")).axes[0].get_ylim()
    least, most = made.group("set", "smo-newton", 1000).interval("cpu_seconds").ends
    assert low < least < 0.5 and 2.2 < most < high


def test_of_very_many_contenders_each_is_compared_with_the_first(monkeypatch):
    described = replace(experiment("set"), contenders=CONTENDERS)
    made = results(list(runs()), described)

    def compared():
        return {(line["numerator"], line["denominator"]) for line in compare_contenders(made.runs, described)}

    first = {("libsvm-dense", "smo-newton"), ("mine", "smo-newton")}
    assert compared() == {*first, ("mine", "libsvm-dense")}
    monkeypatch.setattr(fits, "_ALL_PAIRS", len(CONTENDERS) - 1)
    assert compared() == first


def test_one_pair_at_the_only_size_has_the_scatter_of_other_contenders_repeats():
    seconds = {"smo-newton": [1.0, 1.2], "libsvm-dense": [5.0, 5.0], "onedal-dense": [50.0], "mine": [80.0]}
    labels = {name: Contender(name, name) for name in seconds}
    made = results(
        [
            run("set", label, 1000, repeat=repeat, cpu_seconds=each)
            for label, values in seconds.items()
            for repeat, each in enumerate(values)
        ],
        described := replace(experiment("set"), contenders=labels),
    )
    one_pair, repeated = (
        next(
            line
            for line in compare_contenders(made.runs, described)
            if {line["numerator"], line["denominator"]} == pair and line["quantity"] == "cpu_seconds"
        )
        for pair in ({"mine", "onedal-dense"}, {"smo-newton", "libsvm-dense"})
    )
    deviation = np.log(1.2) / np.sqrt(2.0) * np.sqrt(1 / 2)  # of two contenders with two repeats each
    half = np.hypot(4.303 * np.sqrt(2.0) * deviation, 1.96 * PROCESS_SPREAD)
    assert one_pair["ratio"] in (1.6, 0.625) and one_pair["pairs"] == 1
    assert np.log(one_pair["high"] / one_pair["ratio"]) == pytest.approx(half, rel=1e-3)
    assert np.log(one_pair["ratio"] / one_pair["low"]) == pytest.approx(half, rel=1e-3)
    assert repeated["pairs"] == 2


def test_no_two_solvers_look_alike():
    ours = {name: Contender(name, name) for name in (*style.CONTENDER_LOOKS, "ocas")}
    looks = seconds_ratios.looks_of([replace(experiment("set"), contenders={**CONTENDERS, **ours})])
    assert looks["smo-newton"] == style.CONTENDER_LOOKS["smo-newton"]
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(CONTENDERS) + len(ours) - 1


def test_distinct_looks_are_distinct():
    labels = [*style.CONTENDER_LOOKS, *(f"mine-{k}" for k in range(40))]
    assert len(set(style.contender_looks(labels).values())) == len(labels)


def test_contenders_that_differ_in_an_option_of_text_are_named_by_it():
    modes = {mode: Contender(mode, "mine:train", options={"mode": mode}) for mode in ("fast", "exact")}
    lines = [run("set", mode, 1000, cpu_seconds=1.0, **CERTIFICATE) for mode in modes]
    measured = results(lines, replace(experiment("set"), contenders=modes, sizes=(1000,)))
    plain = Artefact("modes", "contenders", "table", ("set",), "Modes", "")
    rows = contenders.build(measured, plain).sections[0].rows
    assert [row["contender"].text for row in rows] == ["fast", "exact"]


def test_a_profile_leaves_out_what_was_solved_on_other_hardware():
    lines = [
        run("set", "smo-newton", 4000, cpu_seconds=1.0, **{"machine.cpu": "here"}),
        run("set", "smo-newton", 2000, cpu_seconds=0.5, **{"machine.cpu": "here"}),
        run("set", "mine", 4000, cpu_seconds=0.1, **{"machine.cpu": "there"}),
        run("set", "libsvm-dense", 4000, **LATE),
    ]
    measured = results(lines, replace(experiment("set"), contenders=CONTENDERS))
    found = performance_profile.seconds_of(measured, "set", ["smo-newton", "mine", "libsvm-dense"])
    assert found == {"smo-newton": 1.0, "libsvm-dense": np.inf}


def test_a_profile_names_a_solver_of_few_problems_and_draws_no_line():
    few = {**CONTENDERS, "mine": replace(CONTENDERS["mine"], largest=2000)}
    names = ("one", "two", "three")
    described = [replace(experiment(name), contenders=CONTENDERS if name == "one" else few) for name in names]
    lines = [
        run(name, label, 4000, cpu_seconds=seconds)
        for name in names
        for label, seconds in (("smo-newton", 1.0), ("libsvm-dense", 4.0))
    ]
    lines.append(run("one", "mine", 4000, cpu_seconds=0.1))
    measured = results(lines, *described)
    with style.styled():
        figure = performance_profile.build(measured, replace(artefact("figure"), experiments=names))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SMO-Newton", "LIBSVM, dense"]
    assert "Mine (1 of 3, 1 solved)" in " ".join(legend.get_title().get_text().split())
    # Nor is it the fastest of the problem in which it takes part.
    assert figure.axes[0].get_lines()[0].get_ydata()[0] == 1.0


def test_steps_that_a_package_does_not_report_are_unknown():
    lines = [
        run("set", "smo-newton", 1000, cpu_seconds=1.0, iterations=0, **CERTIFICATE),
        run(
            "set",
            "libsvm-dense",
            1000,
            cpu_seconds=1.0,
            iterations=7,
            package="scikit-learn 1.9",
            **CERTIFICATE,
        ),
        run("set", "onedal-dense", 1000, cpu_seconds=1.0, iterations=0, package="oneDAL 1", **CERTIFICATE),
    ]
    measured = results(lines, replace(experiment("set"), contenders=CONTENDERS, sizes=(1000,)))
    rows = contenders.build(measured, replace(artefact("table"), kind="contenders")).sections[0].rows
    assert [row["iterations"].text for row in rows][:3] == ["0", "7", "–"]
