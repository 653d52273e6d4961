import pytest
from analysis_support import EXPERIMENTS
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.configuration import config_dir
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.statistics import fit_power_law

PLATT = PaperNumbers(config_dir() / "papers", "platt1998")


def test_numbers_are_the_papers():
    assert PLATT.seconds("adult-linear", 11221, "chunking") == 20711.3
    assert PLATT.seconds("adult-linear", 16101, "chunking") is None
    assert PLATT.support_vectors("web-gaussian", 17188, "nonbound") == 1780
    assert PLATT.value("sparse_vs_dense", "noise-linear", 5000, "smo_dense_seconds") == 400.0
    assert PLATT.exponent("noise-gaussian", "chunking") == 3.4
    assert PLATT.text("timings", "adult-linear", 11221, "smo_seconds") == "17.0"
    assert PLATT.machine == "266 MHz Pentium II"
    assert PLATT.seconds("adult-linear", None, "smo") is None
    assert [len(PLATT.sizes(name)) for name in EXPERIMENTS] == [9, 9, 8, 8, 5, 5, 5]


@pytest.mark.parametrize("contender", ["smo", "chunking"])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_refit_agrees_with_the_printed_exponent(experiment, contender):
    fit = fit_power_law(PLATT.series(experiment, contender), "refit")
    assert fit.exponent.value == pytest.approx(PLATT.exponent(experiment, contender), abs=0.1)


NO_NUMBER = "is not a number between -1e+100 and 1e+100"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiment,n,smo_seconds\na,10,fast\n", f":2: smo_seconds: 'fast' {NO_NUMBER}"),
        ("experiment,n,smo_iterations\na,10,N/A\n", f":2: smo_iterations: 'N/A' {NO_NUMBER}"),
        ("experiment,n,C_total\na,10,N/A\n", f":2: C_total: 'N/A' {NO_NUMBER}"),
        ("experiment,n,smo_seconds\na,10,1\na,10,2\n", ":3: a second row for experiment 'a', n '10'"),
        ("name,n\na,10\n", ": no column 'experiment'"),
        ("experiment,n,smo_seconds\na,10\n", ":2: 3 columns expected"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(tmp_path, text, message):
    (tmp_path / "p_timings.csv").write_text(text)
    with pytest.raises(StepError) as caught:
        PaperNumbers(tmp_path, "p").sizes("a")
    assert str(caught.value) == f"{tmp_path / 'p_timings.csv'}{message}"
