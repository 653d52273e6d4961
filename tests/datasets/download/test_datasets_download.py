"""The downloader against a real local server, well-behaved and misbehaving."""

import gzip
import signal
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from datasets_support import CONTENT, HASTY, QUICK, ROWS, left_in, libsvm_text, make_entry, put, sha, toy_file
from svmrepro.datasets import DatasetUnavailable
from svmrepro.datasets.download.http import Network, _redirected
from svmrepro.datasets.download.raw_files import fetch_entry
from svmrepro.datasets.errors import SourceError


def held(content, much):
    """Answer with the beginning of the content, then stop sending."""

    def answer(handler):
        handler.reply(200, content[:much], length=len(content))
        handler.wfile.flush()
        handler.server.release.wait(10)

    return answer


def at_first(number, first, then=CONTENT):
    """Give this answer to the first requests, then the file."""
    return lambda handler: first(handler) if len(handler.server.seen) <= number else handler.file(then)


def test_a_file_is_fetched_once(site):
    site.serve(CONTENT)
    for _ in range(2):
        stored = site.fetch()
        assert stored.path.read_bytes() == CONTENT
        assert stored.sha256 == sha(CONTENT)
        assert stored.origin == f"{site.server.url}/toy"
    assert site.server.paths() == ["/toy"]
    assert left_in(site.folder) == ["toy"]


def without_ranges(handler):
    cut = CONTENT[:500] if len(handler.server.seen) == 1 else CONTENT
    handler.reply(200, cut, length=len(CONTENT))


def does_not_know_its_own_range(handler):
    if handler.offset():
        handler.reply(416)
    else:
        handler.file(CONTENT, most=200)


@pytest.mark.parametrize(
    ("answer", "ranges"),
    [
        (at_first(2, lambda handler: handler.reply(500, b"oops")), [None] * 3),
        (at_first(2, lambda handler: None), [None] * 3),  # the connection is dropped
        (at_first(2, lambda handler: handler.file(CONTENT, most=300)), [None, "bytes=300-", "bytes=600-"]),
        (without_ranges, [None, "bytes=500-"]),
        (at_first(2, does_not_know_its_own_range), [None, "bytes=200-", None]),
        (at_first(1, lambda handler: handler.reply(302, Location="/toy")), [None, None]),
    ],
    ids=["errors", "dropped", "cut", "without ranges", "a false range", "moved"],
)
def test_what_goes_wrong_at_first_is_made_good(site, answer, ranges):
    site.serve(answer)
    assert site.fetch().path.read_bytes() == CONTENT
    assert [span for _, span in site.server.seen] == ranges


def test_a_server_that_stalls_once_is_resumed(site):
    big = libsvm_text(2000)
    site.offer(big)
    site.serve(at_first(1, held(big, 9000), then=big))
    assert site.fetch(network=Network(HASTY)).path.read_bytes() == big
    assert site.server.seen[1][1] == "bytes=8192-"


def drip(handler):
    handler.reply(200, b"", length=len(CONTENT))
    for byte in CONTENT:  # each byte in time for a time-out that counts per read
        handler.wfile.write(bytes([byte]))
        if handler.server.release.wait(0.1):
            return


def another_range(handler):
    if handler.offset():
        handler.reply(206, CONTENT[7:], Content_Range=f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}")
    else:
        handler.file(CONTENT, most=200)


def raw(*pieces, endless=b"", pause=0.0):
    """Answer with these bytes, then with further ones until the client leaves or the test ends."""

    def answer(handler):
        for piece in pieces:
            handler.wfile.write(piece)
        while endless and not handler.server.release.wait(pause):
            handler.wfile.write(endless)

    return answer


PAGE = b"\n<!DOCTYPE html><html><title>Please log in</title></html>"
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda handler: handler.reply(200, CONTENT[:500], length=len(CONTENT)), "connection broke"),
        (lambda handler: handler.reply(200, CONTENT[:500]), f"500 bytes where {len(CONTENT)} were expected"),
        (CONTENT.replace(b"-1 1:1", b"-1 2:1", 1), "wrong checksum"),
        (lambda handler: handler.reply(200, PAGE, Content_Type="text/html; charset=utf-8"), "an HTML page"),
        (lambda handler: handler.reply(200, PAGE, Content_Type="text/plain"), "an HTML page"),
        (lambda handler: handler.reply(200, CONTENT, length=10**10), "10000000000 bytes announced"),
        (lambda handler: None, "broke before an answer (4 attempts)"),
        (lambda handler: handler.server.release.wait(10) and None, "no answer"),
        (held(CONTENT, 100), "stalled"),
        (drip, "stalled"),
        (another_range, "another range than was asked for"),
        (raw(OK, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", CONTENT * 2), "more came than"),
        (raw(OK, endless=b"X: y\r\n" * 100), "broke before an answer"),
        (raw(endless=b"HTTP/1.1 100 Continue\r\n\r\n"), "no answer"),
        (raw(OK, b"\r\n", endless=bytes(8192)), "more came than"),
        (raw(CHUNKED, endless=b"1000\r\n" + bytes(4096) + b"\r\n"), "more came than"),
        (raw(CHUNKED, endless=b"1\r\n+\r\n", pause=0.1), "stalled"),
        (raw(OK, b"Content-Encoding: gzip\r\n\r\n", gzip.compress(bytes(10**7))), "more came than"),
        (raw(b"SSH-2.0-hello\r\n"), "broke before an answer"),
    ],
)
def test_answers_that_are_no_file(site, answer, said):
    site.serve(answer)
    limits = HASTY if said in ("stalled", "no answer") else QUICK
    message = site.refusal(network=Network(limits), broken=said == "connection broke")
    assert said in message
    assert str(site.folder / "data" / "raw" / "toy" / "toy") in message, "where to put the file by hand"


def test_a_missing_page_is_tried_once_and_a_server_that_fails_for_ever_is_given_up(site):
    assert "HTTP 404" in site.refusal(network=Network(QUICK))
    assert len(site.server.seen) == 1
    site.server.seen.clear()
    site.serve(lambda handler: handler.reply(503))
    assert f"{site.server.url}/toy: HTTP 503" in site.refusal()
    assert len(site.server.seen) == QUICK.attempts
    assert "not asked again" in site.refusal()
    assert len(site.server.seen) == QUICK.attempts


def test_a_server_that_is_always_just_about_alive(site):
    more = f"toy: {{rows: {ROWS}, max_bytes: 800000000, sources: ['{site.server.url}/toy']}}"
    site.files = more
    # Eight thousand bytes every tenth of a second, for two and a half hours.
    site.serve(raw(OK, b"\r\n", endless=b"+1 1:1\n" * 1170, pause=0.1))
    refusal = site.refusal(network=Network(replace(HASTY, grace=1.0, pace=1_000_000.0)), broken=True)
    assert "too slow: " in refusal
    assert "(2 attempts)" in refusal
    assert len(site.server.seen) == 2


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("file://localhost/etc/passwd", "another scheme (file), refused"),
        ("https://127.0.0.1/toy", "another scheme (https), refused"),
        ("", "which is not a valid address"),
        ("http://", "more than 5 redirects"),
        ("http://[", "Invalid IPv6 URL"),
        ("http://127.0.0.1:99999/", "which is not a valid address"),
    ],
)
def test_redirects_that_are_refused(site, location, said):
    site.serve(lambda handler: handler.reply(302, Location=location))
    assert said in site.refusal()
    assert set(site.server.paths()) == {"/toy"}


def test_a_redirect_may_not_leave_a_secure_connection():
    with pytest.raises(SourceError, match=r"another scheme \(http\), refused"):
        _redirected("https://example.org/a", "http://example.org/a")
    assert _redirected("https://example.org/a/b", "c") == "https://example.org/a/c"


def test_a_host_that_refuses_connections_costs_one_attempt(site):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    files = [toy_file(CONTENT, f"http://127.0.0.1:{port}/t{i}", name=f"t{i}") for i in range(10)]
    with pytest.raises(DatasetUnavailable) as caught:
        fetch_entry(make_entry("\n".join(files), subsets="[t0]"), site.folder, network=site.network)
    assert "connection refused" in str(caught.value)
    assert f"; {', '.join(f't{i}' for i in range(1, 10))} likewise; " in str(caught.value)


def test_every_file_that_a_mirror_lacks_or_has_wrong_is_named(site):
    mirror = site.mirror(CONTENT)
    for name in ("t2", "t3"):
        (mirror / "toy" / name).write_text("+1 1:1\n")
    files = [toy_file(CONTENT, f"{site.server.url}/t{i}", name=f"t{i}") for i in range(4)]
    with pytest.raises(DatasetUnavailable) as caught:
        fetch_entry(make_entry("\n".join(files), subsets="[t0]"), site.folder, mirror, network=site.network)
    said = str(caught.value)
    for name, why in (("t0", "No such file or directory"), ("t2", "7 bytes where ")):
        assert f"{name}: mirror {mirror}/toy/{name}: {why}" in said
    assert "; t1, t3 likewise; " in said


def unresolved(*_, **__):
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize(("lookup", "said"), [(unresolved, "cannot be resolved"), (None, "no answer within")])
def test_a_host_whose_name_is_not_found(site, monkeypatch, lookup, said):
    site.files = toy_file(CONTENT, "http://data.invalid/toy")
    silent = lookup or (lambda *_, **__: site.server.release.wait(10) and [])
    monkeypatch.setattr(socket, "getaddrinfo", silent)
    assert said in site.refusal(network=Network(QUICK if lookup else HASTY))


def test_a_proxy_that_is_not_there(site, monkeypatch):
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert "the proxy gives no connection" in site.refusal()
    assert site.server.seen == []


def test_the_next_source_is_tried(site):
    urls = [f"{site.server.url}/{name}" for name in ("gone", "wrong", "right")]
    site.files = toy_file(CONTENT, *urls)
    site.serve(CONTENT[::-1], "/wrong")
    site.serve(CONTENT, "/right")
    stored = site.fetch()
    assert stored.path.read_bytes() == CONTENT
    assert stored.origin.endswith("/right")
    assert site.server.paths() == ["/gone", "/wrong", "/right"]


def cut_for_ever(much):
    """Answer with the beginning of the content, then drop all connections."""
    return lambda handler: None if handler.offset() else handler.file(CONTENT, most=much)


def test_a_broken_download_is_taken_up_by_the_next_attempt(site):
    site.serve(cut_for_ever(300))
    assert "connection broke" in site.refusal(broken=True)
    site.serve(CONTENT)
    assert site.fetch(network=Network(QUICK)).path.read_bytes() == CONTENT
    assert site.server.seen[-1][1] == "bytes=300-"
    assert left_in(site.folder) == ["toy"]


def test_nothing_is_kept_of_a_broken_download_if_another_source_gives_the_file(site):
    site.files = toy_file(CONTENT, *(f"{site.server.url}/{name}" for name in ("broken", "right")))
    site.serve(cut_for_ever(300), "/broken")
    site.serve(CONTENT, "/right")
    # The host of a broken connection is left alone for a while, so the other source needs a memory of 0.
    site.fetch(network=Network(replace(QUICK, memory=0.0)))
    assert left_in(site.folder) == ["toy"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_download_is_taken_up(site, number):
    big = libsvm_text(3000)
    site.offer(big)
    site.serve(held(big, 20_000))
    victim = site.start_fetch()
    folder = site.folder / "data" / "raw" / "toy"
    deadline = time.monotonic() + 20
    while not any(path.stat().st_size >= 8192 for path in folder.glob("*.part") if path.exists()):
        assert victim.poll() is None and time.monotonic() < deadline, "the child fetched nothing"
        time.sleep(0.02)
    victim.send_signal(number)
    victim.communicate()
    assert not (folder / "toy").exists(), "a half-written file never bears the final name"

    site.serve(big)
    assert site.fetch().path.read_bytes() == big
    assert site.server.seen[-1][1] is not None, "it went on from what was there"
    assert left_in(site.folder) == ["toy"]


def test_a_false_beginning_is_thrown_away(site):
    folder = site.folder / "data" / "raw" / "toy"
    parts = []

    def answer(handler):
        # The second request of a broken download sees the name that a killed process would leave.
        parts.extend(path.name for path in folder.glob("*.part"))
        handler.file(CONTENT, most=None if parts else 200)

    site.serve(answer)
    site.fetch()
    (folder / "toy").unlink()
    put(folder / parts[0], "-1 13:1 something else\n")
    assert site.fetch().path.read_bytes() == CONTENT
    assert [span for _, span in site.server.seen[-2:]] == ["bytes=23-", None]


def test_two_processes_fetch_one_set_once(site):
    def slowly(handler):
        time.sleep(0.5)
        handler.file(CONTENT)

    site.serve(slowly)
    for child in [site.start_fetch() for _ in range(2)]:
        out, err = child.communicate(timeout=30)
        assert child.returncode == 0, err
        assert Path(out.strip()).read_bytes() == CONTENT
    assert site.server.paths() == ["/toy"]
