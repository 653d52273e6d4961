"""Fixtures of the data tests."""

import threading

import pytest
from datasets_support import CONTENT, QUICK, Server, Site, toy_file
from svmrepro.datasets.download.http import Network


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.release.set()
        running.shutdown()


@pytest.fixture
def network():
    return Network(QUICK)


@pytest.fixture
def site(server, network, tmp_path):
    return Site(server, tmp_path, network, toy_file(CONTENT, f"{server.url}/toy"))
