"""Every engine test works in its own folder, without a mirror."""

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)
