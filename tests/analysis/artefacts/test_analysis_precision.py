"""Solvers at equal achieved precision."""

from curve_support import experiment, results, run
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables import precision
from svmrepro.workflow.tables.precision import loosest, reached

OPTIMUM = 100.0


def runs():
    """Make runs in which SVM-perf needs a smaller eps than SVM-light for the same distance and is faster."""
    for eps in (0.1, 0.01, 0.001):
        for repeat in range(2):
            mine = {"certificate.primal": OPTIMUM * (1 + 3 * eps), "certificate.relaxed": OPTIMUM * (1 - eps)}
            yield run("set", "svmperf", 4000, eps, repeat=repeat, cpu_seconds=0.1 / eps, iterations=7, **mine)
            light = {"certificate.primal": OPTIMUM * (1 + 0.5 * eps), "certificate.dual": OPTIMUM * (1 - eps)}
            yield run("set", "svmlight", 4000, eps, repeat=repeat, cpu_seconds=40.0, iterations=9, **light)
        yard = {"certificate.primal": OPTIMUM, "certificate.dual": OPTIMUM}
        yield run("set", "exact", 4000, eps, cpu_seconds=0.001, **yard)


def found():
    return results(list(runs()), experiment("set", "eps"))


def test_the_loosest_tolerance_that_reached_a_distance_from_the_largest_lower_bound_counts():
    by_label = reached(found(), "set", 4000)
    assert [round(run.distance, 4) for run in by_label["svmperf"]] == [
        round(3 * eps / (1 + 3 * eps), 4) for eps in (0.1, 0.01, 0.001)
    ]
    assert [run.distance for run in by_label["exact"]] == [0.0] * 3
    assert [loosest(by_label["svmperf"], target).eps for target in (0.05, 0.004)] == [0.01, 0.001]
    assert loosest(by_label["svmperf"], 1e-6) is None


def test_the_table():
    settings = {"targets": [0.05, 0.004, 0.0001], "yardstick": "exact"}
    artefact = Artefact("precision", "precision", "table", ("set",), "Equal precision", "", settings)
    (section,) = precision.build(found(), artefact).sections
    perf, light = section.rows
    assert perf["seconds_0"].value == 10.0 and perf["ratio_0"].text == "1 (fastest)"
    assert light["ratio_0"].value == 4.0 and light["eps_0"].value == 0.1
    assert perf["seconds_1"].value == 100.0 and perf["ratio_1"].value == 2.5
    assert light["ratio_1"].text == "1 (fastest)"
    assert perf["seconds_2"].text.startswith("not reached: 3.0e-03") and "ratio_2" not in perf


def test_seconds_below_the_clock_are_no_divisor():
    quick, slow = (
        run("set", label, 4000, 0.1, cpu_seconds=seconds, **{"certificate.primal": 1, "certificate.dual": 1})
        for label, seconds in (("svmperf", 0), ("svmlight", 2))
    )
    artefact = Artefact("precision", "precision", "table", ("set",), "T", "", {"targets": [0.1]})
    (section,) = precision.build(results([quick, slow], experiment("set", "eps")), artefact).sections
    perf, light, _ = section.rows
    assert [perf[key].text for key in ("seconds_0", "ratio_0")] == ["below clock", "1 (fastest)"]
    assert [light[key].text for key in ("seconds_0", "ratio_0")] == ["2.00", "–"]


def test_nothing_measured_says_so():
    gone = results(
        [run("set", "svmperf", 4000, 0.1, status="not_run", reason="data not available")],
        experiment("set", "eps"),
    )
    artefact = Artefact("precision", "precision", "table", ("set",), "T", "", {"targets": [0.1]})
    (section,) = precision.build(gone, artefact).sections
    assert section.rows[0]["seconds_0"].text == "not run: data not available"
