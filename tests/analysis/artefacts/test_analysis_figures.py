import struct

import analysis_support as synthetic
import pytest
from svmrepro.workflow.configuration import paths
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
