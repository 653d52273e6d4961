"""One synthetic paper, taken once through every step of the analysis."""

import analysis_support as synthetic
import pytest


@pytest.fixture(scope="session")
def full(tmp_path_factory):
    """All seven experiments at paper scale; chunking reaches its memory limit."""
    return synthetic.analyse(synthetic.make_config(tmp_path_factory.mktemp("full")))
