"""Sizes between the paper's: they narrow exponents, and are shown and judged apart from the paper's own."""

import re

import analysis_support as synthetic
import numpy as np
import pytest
from svmrepro.workflow.analysis.fits import MEASURED, OWN_SIZES, exponent_of_ratios
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration import config_dir, jobs, load_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement.claims import read_claims
from svmrepro.workflow.judgement.verdicts import judge
from svmrepro.workflow.steps import plot
from svmrepro.workflow.tables.layout.exponents import exponent_columns, fit_cells

NAME, OWN, NESTED = "adult-linear", [1605, 2265, 3185, 4781], [1900, 2700, 3900]


def configured(**changes):
    return load_config({"experiments": {"platt1998": {NAME: changes}}}).experiment("platt1998", NAME)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nested")
    config = synthetic.make_config(
        folder, [NAME], sizes=OWN, nested=NESTED, contenders={"chunking-face": {"nested": False}}
    )
    return load(synthetic.analyse(config), synthetic.PAPER, [NAME])


def test_nested_sizes_end_before_the_papers_next_size():
    found = configured(sizes=[1605, 3185], nested=[400, 1605, 1900, 2700, 3900, 8500])
    assert (found.sizes, found.nested) == ((1605, 1900, 2700, 3185, 3900), (1900, 2700, 3900))
    whole = configured(sizes=[1605, 32562], nested=[1900, 27000])
    assert whole.nested == (1900, 27000) and max(whole.sizes) == 32561
    with pytest.raises(StepError, match=r"nested\[1\]"):
        configured(sizes=[1605, 3185], nested=[1900, 99999])


def test_a_contender_can_leave_nested_sizes_out():
    experiment = configured()
    rows = {row.n: {each.label for each in row.contenders} for row in jobs.instances(experiment)}
    assert experiment.nested and all("chunking-face" not in rows[n] for n in experiment.nested)
    assert all("chunking-face" in rows[n] for n in experiment.paper_sizes)
    assert all({"smo", "chunking"} <= labels for labels in rows.values())


def test_exponents_are_fitted_to_all_sizes_and_to_the_papers_alone(results):
    every, own = (results.fit(NAME, "smo", CPU, source) for source in (MEASURED, OWN_SIZES))
    assert (every.points, own.points) == (7, 4) and every.exponent != own.exponent
    assert every.exponent.high - every.exponent.low < own.exponent.high - own.exponent.low


def test_rules_on_exponents_use_all_sizes_and_ratios_the_papers(results):
    file = config_dir() / "claims" / "platt1998.yaml"
    claims = {
        each.id: each for each in read_claims(file, list(load_config().papers[synthetic.PAPER].experiments))
    }
    printed = claims["exponent-smo-adult-linear"]
    for claim, source in ((printed, MEASURED), (printed.before, OWN_SIZES)):
        (found,) = judge(claim, results).findings
        assert found.interval == results.fit(NAME, "smo", CPU, source).exponent
    (apart,) = judge(claims["adult-linear-one-order"], results).findings
    assert apart.interval == exponent_of_ratios(results.runs, NAME, ["chunking", "smo"], CPU)[0]
    for name in ("adult-linear-support-vectors", "same-support-vectors"):
        assert [found.n for found in judge(claims[name], results).findings] == OWN


def test_tables_show_the_slopes_of_both_halves(results):
    whole, few = (fit_cells(results, NAME, label) for label in ("smo", "chunking-face"))
    series = sorted(results.runs.series(NAME, "smo", CPU).items())
    logs = [(np.log(n), np.log(np.median(values))) for n, values in series]
    for key, part in (("lower_half", logs[:4]), ("upper_half", logs[3:])):
        assert whole[key].value == pytest.approx(np.polyfit(*zip(*part, strict=True), 1)[0])
        columns = ([column.key for column in exponent_columns(rows)] for rows in ([whole, few], [few]))
        assert [key in keys for keys in columns] == [True, False]  # four sizes have no halves


def test_tables_and_figures_show_them_apart(results):
    config = results.config
    plot.run(config, synthetic.PAPER, ["loglog-adult-linear"])
    folder = paths.results(config) / synthetic.PAPER
    first, between, exponents = (folder / "timing-adult-linear.md").read_text().split("\n## ")
    sizes = [re.findall(r"^\| ([\d,]+)", part, re.MULTILINE) for part in (first, between)]
    assert sizes[0][: len(OWN)] == [f"{n:,}" for n in OWN] and sizes[1] == [f"{n:,}" for n in NESTED]
    assert between.startswith("Sizes between the paper's") and "(paper)" not in between
    assert "Chunking, free rows" not in between and "Chunking, free rows" in first
    assert "the paper's sizes alone" in exponents and "7: 1,605" in exponents
    assert "1,900" not in (folder / "support-vectors.md").read_text()
    assert "small marks" in paths.figure(config, synthetic.PAPER, "loglog-adult-linear")["svg"].read_text()
