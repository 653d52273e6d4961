"""Downloading one URL into one file: resumed, retried, bounded in time and size.

A transfer runs in a thread of its own and hands over what comes; the caller waits for it no longer than its
limits say. So a name server that does not answer, a host that swallows packets and a server that falls
silent all end the same way, which the time-outs of the socket layer alone do not give (they count per
address and per read). A host that cannot be reached is not asked again for a while: without a network, a
data set of a dozen files costs one attempt per host.
"""

from __future__ import annotations

import http
import queue
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests
from svmrepro.datasets.download.verify import looks_like_html
from svmrepro.datasets.errors import SourceError
from svmrepro.datasets.files import storage_errors

CHUNK = 8192
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
MOST_CONNECTIONS = 100
"""Per file: a server that breaks off after every few bytes is left in the end."""


@dataclass(frozen=True)
class Limits:
    """Patience, in seconds where not said otherwise.

    Attributes
    ----------
    connect
        For one address to accept a connection.
    start
        From the first try to find the host to the first line of its answer.
    silence
        Within which the next 8 KiB must come; a download that is slower than that is given up.
    grace, pace
        After so many seconds a download has to have come at so many bytes a second on the average: one that
        is always just about alive would otherwise be at work for days.
    attempts
        Attempts in a row (a number) that may fail without a byte gained.
    back_off
        Before the second attempt; doubled before each further one.
    memory
        For which a host that could not be reached is not asked again.
    """

    connect: float = 4.0
    start: float = 6.0
    silence: float = 8.0
    grace: float = 60.0
    pace: float = 8192.0
    attempts: int = 4
    back_off: float = 0.5
    memory: float = 60.0


class _BrokenError(Exception):
    """The attempt failed in a way that another may not."""


class _SilentError(_BrokenError):
    """The server fell silent in the middle."""


class _HostError(Exception):
    """The host cannot be reached; no use in trying again now."""


@dataclass(frozen=True)
class _Head:
    status: int
    headers: Mapping[str, str]


class _Transfer:
    """One HTTP request in a thread; its queue gives the head, chunks of the body, None or an exception."""

    def __init__(self, url: str, offset: int, limits: Limits) -> None:
        self._queue: queue.Queue[_Head | bytes | Exception | None] = queue.Queue(maxsize=64)
        self._left = threading.Event()
        self._limits = limits
        # No compression on the way: a byte range is one of the file's bytes.
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "svmrepro"}
        if offset:
            self._headers["Range"] = f"bytes={offset}-"
        # A daemon, since nothing can interrupt a name look-up that hangs.
        threading.Thread(target=self._run, args=(url,), daemon=True).start()

    def _run(self, url: str) -> None:
        timeout = (self._limits.connect, self._limits.silence)
        try:
            with requests.get(
                url, headers=self._headers, stream=True, allow_redirects=False, timeout=timeout
            ) as response:
                self._put(_Head(response.status_code, response.headers))
                if response.status_code in (200, 206):
                    # Not iter_content: it keeps back what came since its last full chunk when the connection
                    # breaks, and those bytes need not be sent again.
                    while chunk := response.raw.read(CHUNK, decode_content=False):
                        if not self._put(chunk):
                            return
                self._put(None)
        except Exception as error:  # whatever it is, the one who waits must hear of it
            self._put(error)

    def _put(self, item: _Head | bytes | Exception | None) -> bool:
        while not self._left.is_set():
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
            if isinstance(item, requests.Timeout | TimeoutError) or "timed out" in str(item):
                raise _SilentError(f"stalled: nothing came for {self._limits.silence:g} s")
            if isinstance(item, Exception):
                raise _BrokenError("the connection broke") from item
            assert isinstance(item, bytes)
            yield item

    def leave(self) -> None:
        self._left.set()


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _classify(error: Exception) -> Exception:
    """Say in a few words why no answer came, and whether the host may answer another time."""
    causes = list(_chain(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return _HostError("the host's name cannot be resolved")
    if isinstance(error, requests.exceptions.SSLError):
        return _HostError(f"no secure connection: {_innermost(causes)}")
    if isinstance(error, requests.exceptions.ProxyError):
        return _HostError(f"the proxy gives no connection: {_innermost(causes)}")
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return _HostError("no connection in time")
    if isinstance(error, requests.exceptions.ReadTimeout):
        return _HostError("connected, and no answer in time")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return _HostError("connection refused")
    if any(isinstance(cause, ConnectionError | http.client.HTTPException) for cause in causes):
        return _BrokenError("the connection broke before an answer")
    if isinstance(error, requests.ConnectionError):
        return _HostError(_innermost(causes))
    return SourceError(_innermost(causes))


def _innermost(causes: list[BaseException]) -> str:
    for cause in reversed(causes):
        if isinstance(cause, OSError) and cause.strerror:
            return str(cause.strerror)
    return " ".join(str(causes[-1]).split())[:160] or type(causes[-1]).__name__


def _status(code: int) -> str:
    try:
        return f"HTTP {code} {http.HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"


def _number(text: str | None) -> int | None:
    # No file has a size of more digits; Python would not even read some thousands of them.
    known = text is not None and text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if known and text is not None else None


def _range_start(headers: Mapping[str, str]) -> int | None:
    """Return where a partial answer begins: ``Content-Range: bytes 500-999/1000`` -> 500."""
    return _number(headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0].strip())


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class Network:
    """The way to the hosts: limits, and a memory of those that could not be reached.

    Parameters
    ----------
    limits
        How patient to be.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._unreachable: dict[str, tuple[str, float]] = {}

    def download(self, url: str, part: Path, limit: int) -> bool:
        """Download ``url`` into ``part``, going on from what is there.

        Parameters
        ----------
        url
            An http or https address. It may redirect within its scheme.
        part
            The file; after an error it holds what has come so far.
        limit
            Most bytes that the file may have.

        Returns
        -------
        bool
            Whether ``part`` held something at the beginning.

        Raises
        ------
        SourceError
            It did not work; the message says why.
        StorageError
            ``part`` cannot be written.
        """
        if not url.startswith(("http://", "https://")):
            raise SourceError(f"{urlsplit(url).scheme or 'no'} scheme: only http and https are known")
        resumed = _size(part) > 0
        failures = silences = 0
        for _ in range(MOST_CONNECTIONS):
            before = _size(part)
            try:
                self._attempt(url, part, limit)
                return resumed
            except _BrokenError as error:
                failures = 1 if _size(part) > before else failures + 1
                silences += isinstance(error, _SilentError)
                # Waiting is the dear thing: a host that has fallen silent twice is left.
                if failures >= self.limits.attempts or silences >= 2:
                    self._remember(_host(url), str(error))
                    raise SourceError(f"{error} ({failures + silences} attempts)") from error
                time.sleep(self.limits.back_off * 2.0 ** (failures - 1))
        raise SourceError(f"the connection broke {MOST_CONNECTIONS} times")

    def _remember(self, host: str, reason: str) -> None:
        self._unreachable[host] = reason, time.monotonic()

    @contextmanager
    def _reaching(self, url: str) -> Iterator[None]:
        """Refuse a host that could not be reached a moment ago; remember one that cannot be now."""
        host = _host(url)
        reason, when = self._unreachable.get(host, ("", float("-inf")))
        if time.monotonic() - when < self.limits.memory:
            raise SourceError(f"{reason} (a moment ago; not asked again)")
        try:
            yield
        except _HostError as error:
            self._remember(host, str(error))
            raise SourceError(str(error)) from error

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
                    transfer.leave()
            url = _redirected(url, head.headers.get("Location", ""))
        raise SourceError(f"more than {MOST_REDIRECTS} redirects")

    def _receive(self, transfer: _Transfer, head: _Head, part: Path, offset: int, limit: int) -> None:
        """Write the body behind what is there already, or anew where the server begins at the beginning."""
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
        if head.status == 206 and _range_start(head.headers) != offset:
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
    """Return where a redirect leads, within the same scheme."""
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        known = bool(location and parts.hostname) and (parts.port or 0) >= 0  # port: is it one?
    except ValueError:
        known = False
    if not known:
        raise SourceError(f"a redirect to {location[:80]!r}, which is no address")
    if parts.scheme != urlsplit(url).scheme:
        raise SourceError(f"a redirect to another scheme ({parts.scheme[:20]}), refused")
    return target


@cache
def shared_network() -> Network:
    """Return the process's own connection: a host that failed for one data set is known to the next."""
    return Network()
