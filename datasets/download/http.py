"""Downloading one URL into one file, with resuming, retries, and limits of time and size.

Each transfer runs in its own thread and passes the data through a queue, on which the caller waits with a
time-out. One mechanism thus covers a name server that does not answer, a host that drops packets and a server
that stops sending; the time-outs of sockets would not, because they apply per address and per read. A host
that cannot be reached is not tried again for a while: without a network, a data set of a dozen files costs
one attempt per host.
"""

from __future__ import annotations

import http.client
import queue
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from svmrepro.datasets.download._verification import looks_like_html
from svmrepro.datasets.errors import SourceError, UnfinishedError, short_reason
from svmrepro.datasets.files import storage_errors
from urllib3.exceptions import ReadTimeoutError

CHUNK = 8192
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5


@dataclass(frozen=True)
class Limits:
    """Limits of one download: times in seconds unless another unit is given, and numbers of attempts."""

    connect: float = 4.0  # for one address to accept a connection
    start: float = 6.0  # from the name look-up to the first line of the response
    silence: float = 8.0  # for the next 8 KiB to arrive; a slower download is aborted
    # After ``grace`` seconds a download must average at least ``pace`` bytes per second; otherwise one just
    # above the limit of ``silence`` could run for days.
    grace: float = 60.0
    pace: float = 8192.0
    attempts: int = 4  # consecutive attempts that may fail; one that receives bytes counts as the first
    silences: int = 2  # attempts that may end in a silence: waiting costs most
    connections: int = 100  # attempts in all, for a server that closes the connection after every few bytes
    back_off: float = 0.5  # pause before the second attempt; doubled before each further one
    memory: float = 60.0  # during which a host that could not be reached is not tried again


class _BrokenError(Exception):
    """The attempt failed; another one may succeed."""


class _SilentError(_BrokenError):
    """The server stopped sending during the transfer."""


class _HostError(Exception):
    """The host cannot be reached; it is not tried again for now."""


@dataclass(frozen=True)
class _Head:
    status: int
    headers: Mapping[str, str]


class _Transfer:
    """One HTTP request in a thread.

    The queue receives the head, the chunks of the body, and at the end None or an exception.
    """

    def __init__(self, url: str, offset: int, limits: Limits) -> None:
        self._queue: queue.Queue[_Head | bytes | Exception | None] = queue.Queue(maxsize=64)
        self.left = threading.Event()
        self._limits = limits
        # No transfer compression: byte ranges must refer to the bytes of the file.
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "svmrepro"}
        if offset:
            self._headers["Range"] = f"bytes={offset}-"
        # A daemon thread, because a hanging name look-up cannot be interrupted.
        threading.Thread(target=self._run, args=(url,), daemon=True).start()

    def _run(self, url: str) -> None:
        timeout = (self._limits.connect, self._limits.silence)
        try:
            with requests.get(
                url, headers=self._headers, stream=True, allow_redirects=False, timeout=timeout
            ) as response:
                self._put(_Head(response.status_code, response.headers))
                if response.status_code in (200, 206):
                    # Not iter_content: when the connection breaks, it drops the bytes received since its last
                    # full chunk, and they would have to be sent again.
                    while chunk := response.raw.read(CHUNK, decode_content=False):
                        if not self._put(chunk):
                            return
                self._put(None)
        except Exception as error:  # any error must reach the waiting caller
            self._put(error)

    def _put(self, item: _Head | bytes | Exception | None) -> bool:
        while not self.left.is_set():
            try:
                self._queue.put(item, timeout=0.2)
            except queue.Full:
                continue
            return True
        return False

    def head(self) -> _Head:
        try:
            item = self._queue.get(timeout=self._limits.start)
        except queue.Empty:
            raise _HostError(f"no answer within {self._limits.start:g} s") from None
        if isinstance(item, Exception):
            raise _classify(item) from item
        assert isinstance(item, _Head)
        return item

    def body(self) -> Iterator[bytes]:
        while True:
            try:
                item = self._queue.get(timeout=self._limits.silence)
            except queue.Empty:
                raise _SilentError(f"stalled: next to nothing came for {self._limits.silence:g} s") from None
            if item is None:
                return
            if isinstance(item, bytes):
                yield item
            elif isinstance(item, requests.Timeout | TimeoutError | ReadTimeoutError):
                raise _SilentError(f"stalled: nothing came for {self._limits.silence:g} s")
            else:
                assert isinstance(item, Exception)
                raise _BrokenError("the connection broke") from item


def _classify(error: Exception) -> Exception:
    """Return an error with a short reason; its type says whether another attempt may succeed."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    # The innermost error of the system is the most specific.
    system = [each.strerror for each in causes if isinstance(each, OSError) and each.strerror]
    innermost = system[-1] if system else short_reason(causes[-1])
    for kind, make, reason in _REASONS:
        if any(isinstance(each, kind) for each in causes):
            return make(reason.format(innermost))
    return SourceError(innermost)


_REASONS: tuple[tuple[Any, type[Exception], str], ...] = (
    (socket.gaierror, _HostError, "the host's name cannot be resolved"),
    (requests.exceptions.SSLError, _HostError, "no secure connection: {}"),
    (requests.exceptions.ProxyError, _HostError, "the proxy gives no connection: {}"),
    (requests.exceptions.ConnectTimeout, _HostError, "no connection in time"),
    (requests.exceptions.ReadTimeout, _HostError, "connected, and no answer in time"),
    (ConnectionRefusedError, _HostError, "connection refused"),
    (ConnectionError | http.client.HTTPException, _BrokenError, "the connection broke before an answer"),
    (requests.ConnectionError, _HostError, "{}"),
)
"""The first kind of error found among the causes decides."""


def _status(code: int) -> str:
    return f"HTTP {code} {http.client.responses.get(code, '')}".strip()


def _number(text: str | None) -> int | None:
    # No file size has more digits, and Python refuses to parse integers of thousands of digits.
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class Network:
    """Downloads under given limits, with a record of hosts that could not be reached."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._unreachable: dict[str, tuple[str, float]] = {}

    def download(self, url: str, part: Path, limit: int) -> bool:
        """Download ``url`` into ``part``, resuming from the bytes that it has; return whether it had any.

        Redirects within the scheme of the URL are followed. The file may have at most ``limit`` bytes. A
        download that fails is a SourceError that says why: an UnfinishedError if another attempt may go on
        from the bytes in ``part``.
        """
        if not url.startswith(("http://", "https://")):
            raise SourceError(f"{urlsplit(url).scheme or 'no'} scheme: only http and https are known")
        resumed = _size(part) > 0
        failures = silences = 0
        for attempt in range(1, self.limits.connections + 1):
            before = _size(part)
            try:
                self._attempt(url, part, limit)
                return resumed
            except _BrokenError as error:
                failures = 1 if _size(part) > before else failures + 1
                silences += isinstance(error, _SilentError)
                if failures >= self.limits.attempts or silences >= self.limits.silences:
                    self._unreachable[_host(url)] = str(error), time.monotonic()
                    raise UnfinishedError(f"{error} ({attempt} attempts)") from error
                time.sleep(self.limits.back_off * 2.0 ** (failures - 1))
        raise UnfinishedError(f"the connection broke {self.limits.connections} times")

    def may_have(self, url: str) -> bool:
        """Tell whether a server may have a file: not if it cannot be reached or says that it has none."""
        try:
            with self._reaching(url):
                transfer = _Transfer(url, 0, self.limits)
                try:
                    return transfer.head().status not in (404, 410)
                finally:
                    transfer.left.set()
        except UnfinishedError:
            return False
        except (SourceError, _BrokenError):
            return True

    @contextmanager
    def _reaching(self, url: str) -> Iterator[None]:
        """Raise at once for a host that could not be reached recently; remember one that fails now."""
        host = _host(url)
        reason, when = self._unreachable.get(host, ("", float("-inf")))
        if time.monotonic() - when < self.limits.memory:
            raise UnfinishedError(f"{reason} (a moment ago; not asked again)")
        try:
            yield
        except _HostError as error:
            self._unreachable[host] = str(error), time.monotonic()
            raise UnfinishedError(str(error)) from error

    def _attempt(self, url: str, part: Path, limit: int) -> None:
        for _ in range(MOST_REDIRECTS + 1):
            offset = _size(part)
            with self._reaching(url):
                transfer = _Transfer(url, offset, self.limits)
                try:
                    head = transfer.head()
                    if head.status not in REDIRECTS:
                        self._receive(transfer, head, part, offset, limit)
                        return
                finally:
                    transfer.left.set()
            url = _redirected(url, head.headers.get("Location", ""))
        raise SourceError(f"more than {MOST_REDIRECTS} redirects")

    def _receive(self, transfer: _Transfer, head: _Head, part: Path, offset: int, limit: int) -> None:
        """Append the body to ``part``, or overwrite ``part`` if the server sends the whole file."""
        if head.status == 416 and offset:
            with storage_errors(part):
                part.unlink()
            raise _BrokenError("the server has no such range of the file")
        if head.status in RETRIED:
            raise _BrokenError(_status(head.status))
        if head.status not in (200, 206):
            raise SourceError(_status(head.status))
        if head.headers.get("Content-Type", "").lower().startswith("text/html"):
            raise SourceError("an HTML page in place of the file")
        start = offset if head.status == 206 else 0
        # Content-Range: bytes 500-999/1000
        first = head.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0].strip()
        if head.status == 206 and _number(first) != offset:
            raise SourceError("the server answers with another range than was asked for")
        length = _number(head.headers.get("Content-Length"))
        if length is not None and start + length > limit:
            raise SourceError(f"{start + length} bytes announced where at most {limit} were expected")

        total = start
        began = time.monotonic()
        with storage_errors(part), part.open("ab" if start else "wb") as out:
            for chunk in transfer.body():
                if total == 0 and looks_like_html(chunk):
                    raise SourceError("an HTML page in place of the file")
                total += len(chunk)
                if total > limit:
                    raise SourceError(f"more came than the {limit} bytes expected")
                out.write(chunk)
                elapsed = time.monotonic() - began
                if elapsed > self.limits.grace and total - start < self.limits.pace * elapsed:
                    raise _SilentError(f"too slow: {total - start} bytes in {elapsed:.0f} s")
        if length is not None and total < start + length:
            raise _BrokenError(f"the connection broke after {total} of {start + length} bytes")


def _redirected(url: str, location: str) -> str:
    """Return the target of a redirect, which must keep the scheme."""
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        known = bool(location and parts.hostname) and (parts.port or 0) >= 0  # `port` raises if it is invalid
    except ValueError:
        known = False
    if not known:
        raise SourceError(f"a redirect to {location[:80]!r}, which is not a valid address")
    if parts.scheme != urlsplit(url).scheme:
        raise SourceError(f"a redirect to another scheme ({parts.scheme[:20]}), refused")
    return target


@cache
def shared_network() -> Network:
    """Return the network of this process, so that all data sets share the record of failed hosts."""
    return Network()
