"""Fixtures of the data tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from datasets_support import QUICK, ROWS, Server, libsvm_text, make_entry, sha
from svmrepro.datasets.download.http import Network
from svmrepro.datasets.registry.model import DownloadedEntry


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
def toy(server: Server) -> DownloadedEntry:
    """A set of one file whose only source is ``/toy`` of the server."""
    content = libsvm_text()
    return make_entry(f"""
    toy:
      rows: {ROWS}
      positives: {ROWS // 2}
      bytes: {len(content)}
      sha256: {sha(content)}
      sources: ["{server.url}/toy"]
    """)
