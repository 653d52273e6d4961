"""A channel on which the steps of a run tell their progress to the command that started it.

It is a local datagram socket, named by an environment variable, which Snakemake hands down to all steps.
Sending never waits and never fails: a step outlives its command, and on another node there is no socket.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: Environment variable with the path of the socket.
VARIABLE = "SVMREPRO_PROGRESS"
_LARGEST = 65_000

Send = Callable[[Mapping[str, Any]], None]


def sender() -> Send | None:
    """Return a function that sends a message, plain data; None if there is no listener."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    channel.setblocking(False)
    try:
        channel.connect(path)
    except OSError:
        channel.close()
        return None

    def send(message: Mapping[str, Any]) -> None:
        with suppress(OSError):
            channel.send(json.dumps(message).encode()[:_LARGEST])

    return send


@contextmanager
def receiver(handle: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Listen in a thread while the block runs; `handle` is called there with each message."""
    import threading

    with tempfile.TemporaryDirectory(prefix="svmrepro-") as folder:
        path = str(Path(folder) / "progress")
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            channel.bind(path)
        except OSError:  # a path of more than about 100 characters; the run goes on without such messages
            channel.close()
            yield
            return
        channel.settimeout(0.2)
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                with suppress(TimeoutError, ValueError):
                    handle(json.loads(channel.recv(_LARGEST + 1)))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        os.environ[VARIABLE] = path
        try:
            yield
        finally:
            del os.environ[VARIABLE]
            ended.set()
            thread.join()
            channel.close()
