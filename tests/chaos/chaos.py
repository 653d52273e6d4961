"""Run a scale repeatedly, inject faults at random moments, restart it, and compare with an undisturbed run.

    python tests/chaos/chaos.py --runs 50 --folder chaos [--config papers=[platt1998]]

Each run has its own folder. Several faults are injected before it may end: SIGKILL to the whole process
group, SIGKILL to Snakemake alone, a full disk, a read-only results folder, a cut network. Each run, with its
faults, is a line of ``runs.jsonl`` in the folder, so that the next call resumes a killed one. Two calls with
separate folders share the work by ``--first`` and ``--runs``. The disk that is filled is a small one in
memory, mounted in a private namespace; without the right to mount, this fault is left out with a message.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from outcome import broken_lines, differences, litter, measurements, read_journal, tables

PROJECT = Path(__file__).resolve().parent.parent.parent
DISK = "512m"
#: A traceback line in this project's code. Tracebacks within Snakemake, when it cannot write its own files,
#: cannot be fixed here.
_OURS = re.compile(r'File "[^"]*/(?:workflow|datasets|solvers)/[\w/]+\.py", line')
#: The kinds of faults. The first fault of each run follows this order; the others are drawn at random.
KINDS = ("kill", "disk-full", "read-only", "network", "kill-leader")
#: Seconds for which a run may continue after a fault before it is killed.
AFTERMATH = 20.0
#: Bytes per second served by the mirror, slow enough that a download can be cut.
PACE = 4_000_000


class Mirror(ThreadingHTTPServer):
    """The mirror as a slow server whose network can be cut: it then accepts connections and sends nothing."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path) -> None:
        self.cut = threading.Event()
        super().__init__(("127.0.0.1", 0), partial(_Files, directory=str(folder)))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: object) -> None:
        pass  # clients are killed during transfers

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()


class _Files(SimpleHTTPRequestHandler):
    server: Mirror

    def copyfile(self, source: Any, outputfile: Any) -> None:
        while (chunk := source.read(65536)) and not self.server.cut.is_set():
            outputfile.write(chunk)
            time.sleep(len(chunk) / PACE)

    def do_GET(self) -> None:
        if not self.server.cut.is_set():
            super().do_GET()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class Folder:
    """The folder of one run, on its own small disk if possible."""

    def __init__(self, path: Path, mounts: bool) -> None:
        self.path, self.mounts = path, mounts

    def make(self) -> None:
        self.remove()
        self.path.mkdir(parents=True)
        if self.mounts:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "chaos", str(self.path)]
            subprocess.run(mount, check=True, capture_output=True)

    def remove(self) -> None:
        if self.path.exists():
            if self.path.is_mount():
                subprocess.run(["umount", "-l", str(self.path)], check=True)
            shutil.rmtree(self.path)

    def fill(self) -> None:
        with contextlib.suppress(OSError), (self.path / "filler").open("ab", buffering=0) as stream:
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while stream.write(bytes(size)) == size:
                        pass

    def free(self) -> None:
        (self.path / "filler").unlink(missing_ok=True)

    def set_writable(self, writable: bool) -> None:
        results = self.path / "results"
        for place in (results, *results.rglob("*")):
            with contextlib.suppress(OSError):
                mode = place.stat().st_mode
                place.chmod(mode | 0o200 if writable else mode & ~0o222)


def command(folder: Path, settings: Path, targets: Sequence[str]) -> list[str]:
    """Return a Snakemake command; a superuser's right to write anywhere is dropped."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    return [
        *(*drop, sys.executable, "-m", "snakemake", "--snakefile", str(PROJECT / "Snakefile"), *targets),
        *("--directory", str(folder), "--cores", "2", "--configfile", str(settings)),
    ]


class Chaos:
    """A series of runs with the same configuration; the first one is undisturbed."""

    def __init__(
        self, folder: Path, overrides: Mapping[str, Any], mirror: Mirror, mounts: bool, span: float | None
    ) -> None:
        self.folder, self.mirror, self.mounts = folder, mirror, mounts
        folder.mkdir(parents=True, exist_ok=True)
        self.settings = folder / "settings.json"
        # Whether a run is repeated must not depend on its duration.
        fixed = {"scale": "smoke", "repeat_budget": None, "time_limit": 600}
        self.settings.write_text(json.dumps({**fixed, **overrides}))
        self.scale = str(json.loads(self.settings.read_text())["scale"])
        self.span = span
        self.kinds = [kind for kind in KINDS if mounts or kind != "disk-full"]

    def start(self, folder: Path, *targets: str) -> subprocess.Popen[bytes]:
        log = (self.folder / "output.log").open("wb")
        return subprocess.Popen(
            command(folder, self.settings, targets),
            env={**os.environ, "SVMREPRO_MIRROR": self.mirror.url, "NO_PROXY": "*"},
            start_new_session=True,
            stdout=log,
            stderr=log,
        )

    def finish(self, folder: Path) -> list[str]:
        """Run to the end; data that a cut network withheld are fetched again."""
        problems = []
        for targets in (["fetch"], [], ["--dry-run"]):
            process = self.start(folder, *targets)
            code = process.wait(timeout=3600)
            said = (self.folder / "output.log").read_text(errors="replace")
            if code or _OURS.search(said):
                problems.append(f"{targets or 'all'} ended with {code}: {said[-1500:]}")
        if "Nothing to be done" not in said:
            problems.append(f"a second run would do something: {said[-800:]}")
        return problems

    def undisturbed(self) -> dict[str, Any]:
        """Return the tables and the duration of the undisturbed run; computed once."""
        kept = self.folder / "undisturbed.json"
        if not kept.exists():
            place = Folder(self.folder / "undisturbed", mounts=False)
            place.make()
            began = time.monotonic()
            assert self.start(place.path).wait() == 0, (self.folder / "output.log").read_text()
            seconds = time.monotonic() - began
            results = place.path / "results" / self.scale
            assert not broken_lines(results)
            content = {"seconds": seconds, "tables": tables(results), "measurements": measurements(results)}
            kept.write_text(json.dumps(content))
        return json.loads(kept.read_text())  # type: ignore[no-any-return]

    def harm(self, place: Folder, kind: str, moment: float, aftermath: float) -> dict[str, Any]:
        """Start the run, inject one fault at a given moment, and repair what can be repaired."""
        process = self.start(place.path)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=moment)
        alive = process.poll() is None
        if alive and kind == "kill-leader":
            process.kill()
        elif alive and kind != "kill":
            hurt = {
                "disk-full": place.fill,
                "read-only": lambda: place.set_writable(False),
                "network": self.mirror.cut.set,
            }
            hurt[kind]()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=aftermath)
        by_itself = process.poll()
        if kind != "kill-leader":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.mirror.cut.clear()
        place.free()
        place.set_writable(True)
        said = (self.folder / "output.log").read_text(errors="replace")
        return {
            "kind": kind,
            "moment": round(moment, 2),
            "alive": alive,
            "code": by_itself,
            "traceback": said[-3000:] if _OURS.search(said) else "",
            "told": [line for line in said.splitlines() if line.startswith("error: ")][:3],
        }

    def run(self, number: int, most_kills: int) -> dict[str, Any]:
        """Make one run, inject several faults, let it finish, and judge it."""
        expected = self.undisturbed()
        draw = random.Random(number)
        place = Folder(self.folder / "run", self.mounts)
        place.make()
        kills = []
        # Each kind of fault comes first in turn; the others are drawn at random.
        kinds = [
            self.kinds[number % len(self.kinds)],
            *draw.choices(self.kinds, k=draw.randrange(most_kills)),
        ]
        for kind in kinds:
            span = self.span or 0.9 * expected["seconds"]
            longest = span / 3 if kind == "network" else span  # data are fetched first
            kills.append(self.harm(place, kind, draw.uniform(1.0, longest), draw.uniform(1.0, AFTERMATH)))
        problems = self.finish(place.path)
        results = place.path / "results" / self.scale
        problems += [f"kill {i}: {kill['traceback']}" for i, kill in enumerate(kills) if kill["traceback"]]
        problems += broken_lines(results) + litter(results)
        problems += differences(expected["tables"], tables(results))
        found = measurements(results)
        if not problems:
            place.remove()
        else:
            shutil.copytree(place.path, self.folder / f"run-{number}", dirs_exist_ok=True)
        return {"run": number, "kills": kills, "measurements": found, "problems": problems[:20]}

    def go_on(self, runs: range, most_kills: int) -> list[dict[str, Any]]:
        """Make the runs that the journal lacks; return all."""
        path = self.folder / "runs.jsonl"
        made = read_journal(path)
        # Without the incomplete line that a kill may have left.
        path.write_text("".join(json.dumps(run) + "\n" for run in made))
        for number in sorted(set(runs) - {run["run"] for run in made}):
            made.append(self.run(number, most_kills))
            with path.open("a") as stream:
                stream.write(json.dumps(made[-1]) + "\n")
        return made


def summary(folder: Path) -> dict[str, Any]:
    """Return the statistics of a series from its journal."""
    runs = read_journal(folder / "runs.jsonl")
    kinds = Counter(kill["kind"] for run in runs for kill in run["kills"] if kill["alive"])
    return {
        "runs": len(runs),
        "kills": kinds.total(),
        "by kind": kinds,
        "runs with problems": [run["run"] for run in runs if run["problems"]],
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50, help="the number after the last run's")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--kills", type=int, default=4, help="most kills of a run")
    parser.add_argument("--folder", type=Path, default=Path("chaos"))
    parser.add_argument("--span", type=float, help="harm within so many seconds; a whole run's by default")
    parser.add_argument("--config", nargs="*", default=[], help="key=value, as for Snakemake")
    arguments = parser.parse_args()
    can_mount = subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode == 0
    if can_mount and "SVMREPRO_CHAOS_MOUNTS" not in os.environ:
        # Restart in a new user and mount namespace, so that the disks vanish with this process in any case.
        space = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
        os.environ["SVMREPRO_CHAOS_MOUNTS"] = "1"
        os.execvp("unshare", [*space, sys.executable, *sys.argv])
    mounts = "SVMREPRO_CHAOS_MOUNTS" in os.environ
    if not mounts:
        print("no right to mount a small disk: it is not filled")
    source = os.environ.get("SVMREPRO_MIRROR", "")
    overrides = {
        key: yaml.safe_load(value) for key, _, value in (item.partition("=") for item in arguments.config)
    }
    with Mirror(Path(source) if Path(source).is_dir() else arguments.folder / "no-mirror") as mirror:
        chaos = Chaos(arguments.folder.absolute(), overrides, mirror, mounts, arguments.span)
        for run in chaos.go_on(range(arguments.first, arguments.runs), arguments.kills):
            if run["problems"]:
                print(json.dumps(run, indent=1))
    figures = summary(arguments.folder)
    print(json.dumps(figures))
    return bool(figures["runs with problems"])


if __name__ == "__main__":
    sys.exit(main())
