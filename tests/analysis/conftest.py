"""One synthetic paper, taken once through every step of the analysis."""

import analysis_support as synthetic
import pytest
from analysis_steps import measured


@pytest.fixture(scope="session")
def full(tmp_path_factory):
    """All seven experiments at paper scale; chunking reaches its memory limit."""
    return measured(tmp_path_factory.mktemp("full"), *synthetic.EXPERIMENTS)
