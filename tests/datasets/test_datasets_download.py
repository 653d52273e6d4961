"""The downloader against a real local server that does what servers do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from datasets_support import ROWS, Handler, Server, left_in, libsvm_text, make_entry, sha
from svmrepro.datasets import DatasetUnavailable
from svmrepro.datasets.download.http import Limits, Network
from svmrepro.datasets.download.search import ensure_file, fetch_entry
from svmrepro.datasets.registry.model import DownloadedEntry

CONTENT = libsvm_text()


def failure(entry: DownloadedEntry, folder: Path, network: Network) -> str:
    """Fetch in vain; return the message after checking that it is one line and that nothing was left."""
    with pytest.raises(DatasetUnavailable) as caught:
        ensure_file(entry, "toy", folder, network=network)
    message = str(caught.value)
    assert "\n" not in message
    assert str(folder / "raw" / "toy" / "toy") in message, "the message says where to put the file by hand"
    assert left_in(folder) == []
    return message


def test_a_file_is_fetched_once(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = CONTENT
    for _ in range(2):
        stored = ensure_file(toy, "toy", tmp_path, network=network)
        assert stored.path.read_bytes() == CONTENT
        assert stored.sha256 == sha(CONTENT)
        assert stored.origin == f"{server.url}/toy"
    assert server.paths() == ["/toy"]
    assert left_in(tmp_path) == ["toy"]


def test_error_500_twice_then_works(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        if len(server.seen) <= 2:
            handler.reply(500, b"oops")
        else:
            handler.file(CONTENT)

    server.answers["/toy"] = answer
    assert ensure_file(toy, "toy", tmp_path, network=network).path.read_bytes() == CONTENT
    assert len(server.seen) == 3


def test_error_503_for_ever_is_given_up_and_not_asked_again(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(503)
    message = failure(toy, tmp_path, network)
    assert f"{server.url}/toy: HTTP 503 Service Unavailable" in message
    asked = len(server.seen)
    assert asked == network.limits.attempts
    assert "not asked again" in failure(toy, tmp_path, network)
    assert len(server.seen) == asked


def test_a_missing_page_is_not_tried_twice(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    assert "HTTP 404 Not Found" in failure(toy, tmp_path, network)
    assert len(server.seen) == 1


def test_a_truncated_download_is_resumed(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.file(CONTENT, most=300)
    assert ensure_file(toy, "toy", tmp_path, network=network).path.read_bytes() == CONTENT
    starts = [span for _, span in server.seen]
    assert starts[:3] == [None, "bytes=300-", "bytes=600-"]


def test_a_server_without_ranges_is_asked_from_the_beginning(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        cut = CONTENT[:500] if len(server.seen) == 1 else CONTENT
        handler.reply(200, cut, length=len(CONTENT))

    server.answers["/toy"] = answer
    assert ensure_file(toy, "toy", tmp_path, network=network).path.read_bytes() == CONTENT
    assert len(server.seen) == 2


def test_a_download_truncated_at_every_attempt_fails(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(200, CONTENT[:500], length=len(CONTENT))
    assert "the connection broke" in failure(toy, tmp_path, network)


def test_a_file_that_is_short_without_notice_fails(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(200, CONTENT[:500])
    assert f"500 bytes where {len(CONTENT)} were expected" in failure(toy, tmp_path, network)


def test_a_wrong_checksum_is_refused(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = CONTENT.replace(b"-1 1:1", b"-1 2:1", 1)
    assert "wrong checksum" in failure(toy, tmp_path, network)


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "text/plain"])
def test_a_web_page_in_place_of_data_is_recognised(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path, kind: str
) -> None:
    page = b"\n<!DOCTYPE html><html><title>Please log in</title></html>"
    server.answers["/toy"] = lambda handler: handler.reply(200, page, Content_Type=kind)
    assert "an HTML page in place of the file" in failure(toy, tmp_path, network)


def test_a_server_that_never_answers(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: server.release.wait(10) and None
    begun = time.monotonic()
    assert "no answer" in failure(toy, tmp_path, network)
    assert time.monotonic() - begun < 2.0
    assert len(server.seen) == 1


def test_a_server_that_falls_silent_in_the_middle(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        handler.reply(200, CONTENT[:100], length=len(CONTENT))
        handler.wfile.flush()
        server.release.wait(10)

    server.answers["/toy"] = answer
    begun = time.monotonic()
    assert "stalled" in failure(toy, tmp_path, network)
    assert time.monotonic() - begun < 3.0
    assert len(server.seen) == 2


def test_a_server_that_drips_is_given_up(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        handler.reply(200, b"", length=len(CONTENT))
        for byte in CONTENT:  # each byte in time for a time-out that counts per read
            handler.wfile.write(bytes([byte]))
            if server.release.wait(0.1):
                return

    server.answers["/toy"] = answer
    begun = time.monotonic()
    assert "stalled" in failure(toy, tmp_path, network)
    assert time.monotonic() - begun < 3.0


def test_a_server_that_stalls_once_is_resumed(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    big = libsvm_text(2000)
    entry = make_entry(
        f"toy: {{rows: 2000, bytes: {len(big)}, sha256: {sha(big)}, sources: ['{server.url}/big']}}"
    )

    def answer(handler: Handler) -> None:
        if len(server.seen) > 1:
            handler.file(big)
            return
        handler.reply(200, big[:9000], length=len(big))
        handler.wfile.flush()
        server.release.wait(10)

    server.answers["/big"] = answer
    assert ensure_file(entry, "toy", tmp_path, network=network).path.read_bytes() == big
    assert server.seen[1][1] == "bytes=8192-"


def test_slow_but_alive_downloads_go_on(server: Server, network: Network, tmp_path: Path) -> None:
    big = libsvm_text(3000)
    entry = make_entry(
        f"toy: {{rows: 3000, bytes: {len(big)}, sha256: {sha(big)}, sources: ['{server.url}/big']}}"
    )

    def answer(handler: Handler) -> None:
        handler.reply(200, b"", length=len(big))
        for start in range(0, len(big), 8192):
            handler.wfile.write(big[start : start + 8192])
            time.sleep(0.25)  # in all well above the limit of silence

    server.answers["/big"] = answer
    begun = time.monotonic()
    assert ensure_file(entry, "toy", tmp_path, network=network).path.read_bytes() == big
    assert time.monotonic() - begun > 2.5 * network.limits.silence
    assert len(server.seen) == 1


def test_a_body_that_never_ends_is_cut_off(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.release.is_set():
            handler.wfile.write(CONTENT)

    server.answers["/toy"] = answer
    assert f"more came than the {len(CONTENT)} bytes expected" in failure(toy, tmp_path, network)


def test_a_body_announced_too_long_is_not_read(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(200, CONTENT, length=10**10)
    assert "10000000000 bytes announced" in failure(toy, tmp_path, network)


def test_a_redirect_is_followed(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(302, Location="/moved")
    server.answers["/moved"] = CONTENT
    assert ensure_file(toy, "toy", tmp_path, network=network).path.read_bytes() == CONTENT


@pytest.mark.parametrize("target", ["ftp://example.org/toy", "file:///etc/passwd", "https://example.org/toy"])
def test_a_redirect_to_another_scheme_is_refused(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path, target: str
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(301, Location=target)
    message = failure(toy, tmp_path, network)
    assert ("another scheme" in message) or (target.startswith("file") and "no address" in message)


def test_a_redirect_in_a_circle_ends(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.reply(302, Location="/toy")
    assert "redirects" in failure(toy, tmp_path, network)
    assert len(server.seen) <= 10


def test_a_host_that_refuses_connections(network: Network, tmp_path: Path, server: Server) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    entry = make_entry(
        "\n".join(
            f"t{i}: {{rows: {i + 2}, bytes: 9, sha256: {'f' * 64}, sources: ['http://127.0.0.1:{port}/t{i}']}}"
            for i in range(10)
        ),
        subsets="[t0]",
    )
    begun = time.monotonic()
    with pytest.raises(DatasetUnavailable) as caught:
        fetch_entry(entry, tmp_path, network=network)
    assert time.monotonic() - begun < 2.0
    assert "connection refused" in str(caught.value)
    assert "9 more files likewise" in str(caught.value)


def test_a_name_that_does_not_resolve(
    network: Network, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unresolved(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    entry = make_entry(
        f"toy: {{rows: 2, bytes: 9, sha256: {'f' * 64}, sources: ['http://data.invalid/toy']}}"
    )
    assert "the host's name cannot be resolved" in failure(entry, tmp_path, network)


def test_a_name_server_that_never_answers(
    network: Network, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: server.release.wait(10) and [])
    entry = make_entry(
        f"toy: {{rows: 2, bytes: 9, sha256: {'f' * 64}, sources: ['http://data.invalid/toy']}}"
    )
    begun = time.monotonic()
    assert "no answer within" in failure(entry, tmp_path, network)
    assert time.monotonic() - begun < 2.0


def test_the_usual_patience_keeps_a_set_without_network_short() -> None:
    # Two hosts for adult, one for web: the worst case of each is its start limit.
    assert 3 * Limits().start < 30.0


def test_the_next_source_is_tried(server: Server, network: Network, tmp_path: Path) -> None:
    entry = make_entry(f"""
    toy:
      rows: {ROWS}
      bytes: {len(CONTENT)}
      sha256: {sha(CONTENT)}
      sources: ["{server.url}/gone", "{server.url}/wrong", "{server.url}/right"]
    """)
    server.answers["/wrong"] = CONTENT[::-1]
    server.answers["/right"] = CONTENT
    stored = ensure_file(entry, "toy", tmp_path, network=network)
    assert stored.path.read_bytes() == CONTENT
    assert stored.origin.endswith("/right")
    assert server.paths() == ["/gone", "/wrong", "/right"]


FETCH = """
import sys
sys.path.insert(0, sys.argv[1])
from datasets_support import make_entry
from svmrepro.datasets.download.search import ensure_file
entry = make_entry(sys.argv[2])
print(ensure_file(entry, "toy", sys.argv[3]).path)
"""


def start_fetch(entry_text: str, folder: Path) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", FETCH, str(Path(__file__).parent), entry_text, str(folder)]
    environment = {**os.environ, "NO_PROXY": "*"}
    return subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_killed_download_is_taken_up(server: Server, network: Network, tmp_path: Path) -> None:
    big = libsvm_text(3000)
    text = f"toy: {{rows: 3000, bytes: {len(big)}, sha256: {sha(big)}, sources: ['{server.url}/big']}}"

    def hold(handler: Handler) -> None:
        handler.reply(200, big[:20000], length=len(big))
        handler.wfile.flush()
        server.release.wait(20)

    server.answers["/big"] = hold
    victim = start_fetch(text, tmp_path)
    part = tmp_path / "raw" / "toy"
    deadline = time.monotonic() + 20
    while not any(path.stat().st_size >= 8192 for path in part.glob("*.part") if path.exists()):
        assert victim.poll() is None and time.monotonic() < deadline, "the child fetched nothing"
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert not (part / "toy").exists(), "a half-written file never bears the final name"

    server.answers["/big"] = big
    assert ensure_file(make_entry(text), "toy", tmp_path, network=network).path.read_bytes() == big
    assert server.seen[-1][1] is not None, "it went on from what was there"
    assert left_in(tmp_path) == ["toy"]


def test_a_false_beginning_is_thrown_away(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    folder = tmp_path / "raw" / "toy"
    parts: list[str] = []

    def answer(handler: Handler) -> None:
        # The second request of a broken download sees the name that a killed process would leave behind.
        parts.extend(path.name for path in folder.glob("*.part"))
        handler.file(CONTENT, most=None if parts else 200)

    server.answers["/toy"] = answer
    ensure_file(toy, "toy", tmp_path, network=network)
    (folder / "toy").unlink()
    (folder / parts[0]).write_bytes(b"-1 13:1 something else\n")
    assert ensure_file(toy, "toy", tmp_path, network=network).path.read_bytes() == CONTENT
    assert [span for _, span in server.seen[-2:]] == ["bytes=23-", None]


def test_two_processes_fetch_one_set_once(server: Server, tmp_path: Path) -> None:
    def slowly(handler: Handler) -> None:
        time.sleep(0.5)
        handler.file(CONTENT)

    server.answers["/toy"] = slowly
    text = (
        f"toy: {{rows: {ROWS}, bytes: {len(CONTENT)}, sha256: {sha(CONTENT)}, sources: ['{server.url}/toy']}}"
    )
    children = [start_fetch(text, tmp_path) for _ in range(2)]
    for child in children:
        out, err = child.communicate(timeout=30)
        assert child.returncode == 0, err
        assert Path(out.strip()).read_bytes() == CONTENT
    assert server.paths() == ["/toy"]


def test_a_connection_dropped_before_an_answer_is_tried_again(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    server.answers["/toy"] = lambda handler: handler.file(CONTENT) if len(server.seen) > 2 else None
    assert ensure_file(toy, "toy", tmp_path / "a", network=network).path.read_bytes() == CONTENT
    server.answers["/toy"] = lambda handler: None
    assert "the connection broke before an answer (4 attempts)" in failure(toy, tmp_path / "b", network)


def test_a_host_without_a_secure_connection(server: Server, network: Network, tmp_path: Path) -> None:
    url = server.url.replace("http:", "https:")
    entry = make_entry(f"toy: {{rows: 2, bytes: 9, sha256: {'f' * 64}, sources: ['{url}/toy']}}")
    assert "no secure connection" in failure(entry, tmp_path, network)


def test_a_proxy_that_is_not_there(
    server: Server,
    toy: DownloadedEntry,
    network: Network,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert "the proxy gives no connection" in failure(toy, tmp_path, network)
    assert server.seen == []


def test_a_server_that_does_not_know_its_own_range(
    server: Server, toy: DownloadedEntry, network: Network, tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        if handler.offset() and len(server.seen) == 2:
            handler.reply(416)
        else:
            handler.file(CONTENT, most=None if len(server.seen) > 2 else 200)

    server.answers["/toy"] = answer
    assert ensure_file(toy, "toy", tmp_path / "a", network=network).path.read_bytes() == CONTENT
    assert [span for _, span in server.seen] == [None, "bytes=200-", None]

    def another(handler: Handler) -> None:
        if handler.offset():
            handler.reply(206, CONTENT[7:], Content_Range=f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}")
        else:
            handler.file(CONTENT, most=200)

    server.answers["/toy"] = another
    assert "another range than was asked for" in failure(toy, tmp_path / "b", network)
