"""Fixtures of the data tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from datasets_support import CONTENT, QUICK, Server, Site, toy_file
from svmrepro.datasets.download.http import Network


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.release.set()
        running.shutdown()


@pytest.fixture
def network() -> Network:
    return Network(QUICK)


@pytest.fixture
def site(server: Server, network: Network, tmp_path: Path) -> Site:
    return Site(server, tmp_path, network, toy_file(CONTENT, f"{server.url}/toy"))
