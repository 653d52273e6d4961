import struct
from dataclasses import replace

import analysis_support as synthetic
import pytest
from svmrepro.workflow.analysis.fits import PAPER
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import config_dir, paths
from svmrepro.workflow.figures import exponents, loglog
from svmrepro.workflow.steps import plot


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    config = synthetic.make_config(tmp_path_factory.mktemp("small"), ["adult-linear", "noise-linear"])
    return synthetic.analyse(config, figures=True)


FIGURES = ("loglog-adult-linear", "loglog-noise-linear", "overview", "exponents")


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_numbers_give_the_same_svg_and_a_png_as_wide_as_a_column_or_two(small, name):
    files = paths.figure(small, synthetic.PAPER, name)
    before = files["svg"].read_bytes()
    plot.run(small, synthetic.PAPER, [name])
    assert files["svg"].read_bytes() == before
    assert b"<dc:date>" not in before and before.count(b"<path") > 10
    data = files["png"].read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width / 300 == pytest.approx(3.5 if name.startswith("loglog") else 7.2, abs=0.01)
    assert 0.2 < height / width < 1.35


def test_the_papers_points_are_not_hidden_by_ours(small):
    results = load(small, synthetic.PAPER, ["adult-linear"])
    figure = loglog.build(results, small.papers[synthetic.PAPER].artefacts["loglog-adult-linear"])
    drawn = [line for line in figure.axes[0].get_lines() if line.get_marker() not in ("", "None")]
    for points in (drawn, sorted(drawn, key=lambda line: line.get_zorder())):  # on the site, in print
        hollow = [line.get_markerfacecolor() == "none" for line in points]
        assert any(hollow) and hollow == sorted(hollow)


def test_an_exponent_that_the_paper_lacks_is_said_to_be_missing(small, tmp_path):
    for path in (config_dir() / "papers").glob(f"{synthetic.PAPER}_*.csv"):
        lines = path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if "scaling" not in path.name or "noise-linear" not in line]
        (tmp_path / path.name).write_text("".join(kept))
    results = load(small, synthetic.PAPER, ["adult-linear", "noise-linear"])
    numbers = PaperNumbers(tmp_path, synthetic.PAPER)
    fits = {key: fit for key, fit in results.fits.items() if key[3] != PAPER}
    drawn = replace(results, numbers=numbers, fits=fits)
    figure = exponents.build(drawn, small.papers[synthetic.PAPER].artefacts["exponents"])
    texts = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert texts == [["no exponent in the paper"]] * 2
