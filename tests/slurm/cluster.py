"""A real Slurm on this machine: munge, slurmctld and two slurmd, set up in a folder and torn down.

It needs root and Debian's packages munge, slurmctld, slurmd and slurm-client. It listens on loopback only and
leaves an existing Slurm of the machine alone.

If Slurm allows several slurmd per host, there are two nodes, the same machine under two names. Each claims
two cores with two hardware threads, whatever the machine has; this affects Slurm's accounting only.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from support import ran

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "sinfo")
#: Debian's folder of the daemons, which is not on a plain user's path.
_SYSTEM = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


class UnavailableError(Exception):
    """Slurm cannot run here; the message says why."""


def program(name: str) -> str:
    """Return the path of a Slurm program."""
    found = shutil.which(name, path=_SYSTEM)
    if found is None:
        raise UnavailableError(f"Slurm is not installed: there is no {name}")
    return found


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """A running Slurm, with all its files in a folder; each node claims two hardware threads per core."""

    def __init__(self, folder: Path, nodes: int, cores: int) -> None:
        for name in PROGRAMS:
            program(name)
        if os.getuid() != 0:
            raise UnavailableError("a Slurm of one's own needs root")
        self.folder, self.cores = folder.absolute(), cores
        self.nodes = [f"node{number}" for number in range(1, nodes + 1)]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: list[int] = []

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment that commands need to reach this Slurm."""
        path = os.pathsep.join([str(self.folder / "bin"), _SYSTEM])
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path}

    def command(self, *arguments: str, check: bool = True, timeout: float = 120) -> str:
        """Run a Slurm command; return its output."""
        done = ran(program(arguments[0]), *arguments[1:], env=self.environment, timeout=timeout)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def start(self) -> None:
        """Start everything, and wait until the nodes are idle."""
        for name in ("munge", "state", *(f"spool-{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        (self.folder / "munge").chmod(0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        munge = self.folder / "munge"
        self._run(
            *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/socket"),
            *(f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed"),
        )
        self._wait((munge / "socket").exists, "munged", 20)
        controller, *self._ports = _free_ports(1 + len(self.nodes))
        host = socket.gethostname()
        lines = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
            f"CPUs={2 * self.cores} CoresPerSocket={self.cores} ThreadsPerCore=2 RealMemory=8000"
            for node, port in zip(self.nodes, self._ports, strict=True)
        ]
        conf = Path(__file__).with_name("slurm.conf.in").read_text()
        text = conf.format(host=host, folder=self.folder, controller=controller, nodes="\n".join(lines))
        (self.folder / "slurm.conf").write_text(text)
        # Snakemake removes SLURM_CONF from the jobs' environment, as real clusters need none; srun needs it
        # here.
        srun = self.folder / "bin" / "srun"
        srun.parent.mkdir(exist_ok=True)
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {program("srun")} "$@"\n')
        srun.chmod(0o755)
        # The daemon looks for control groups even if nothing uses them; later versions do not.
        early = self.command("slurmd", "-V").split()[-1].split(".") < ["23", "02"]
        (self.folder / "cgroup.conf").write_text(f"CgroupPlugin={'cgroup/v1' if early else 'disabled'}\n")
        self._run("slurmctld", "-D", "-c")
        self._wait(lambda: "UP" in self.command("scontrol", "ping", check=False), "slurmctld", 30)
        for node in self.nodes:
            self.start_node(node)
        self._wait(lambda: self.states() == dict.fromkeys(self.nodes, "idle"), "the nodes", 30)

    def _run(self, name: str, *arguments: str, key: str = "") -> None:
        self._processes[key or name] = subprocess.Popen(
            [program(name), *arguments],
            env=self.environment,
            stdout=(self.folder / f"{key or name}.out").open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _wait(self, done: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                said = "".join(
                    f"\n{path.name}: {path.read_text(errors='replace')[-800:]}"
                    for path in (*self.folder.glob("*.log"), *self.folder.glob("*.out"))
                )
                raise RuntimeError(f"{what} did not come up within {seconds:g} s: {self.states()}{said}")
            time.sleep(0.3)

    def states(self) -> dict[str, str]:
        """Return the state of each node, as sinfo calls it."""
        lines = self.command("sinfo", "-h", "-N", "-o", "%N %T", check=False).splitlines()
        return {line.split()[0]: line.split()[1].rstrip("*") for line in lines if len(line.split()) == 2}

    def start_node(self, node: str) -> None:
        self._run("slurmd", "-D", "-N", node, key=f"slurmd-{node}")

    def running(self) -> dict[str, str]:
        """Return the running jobs: job number, and its node."""
        lines = self.command("squeue", "-h", "-t", "RUNNING", "-o", "%i %N").splitlines()
        return {line.split()[0]: line.split()[1] for line in lines if len(line.split()) == 2}

    def allocated(self, job: str) -> str:
        """Return the hardware threads of a running job on its only node, such as "0-1"."""
        said = self.command("scontrol", "show", "job", "--details", job)
        return said.partition("CPU_IDs=")[2].split()[0]

    def restarts(self, job: str) -> int:
        """Return how often Slurm restarted a job."""
        return int(self.command("scontrol", "show", "job", job).partition("Restarts=")[2].split()[0])

    def processes_of(self, job: str) -> dict[int, list[str]]:
        """Return the command lines of a job's processes, by process id."""
        found = {}
        for process in (below for step in self.steps_of(job) for below in step.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                found[process.pid] = process.cmdline()
        return found

    def steps_of(self, job: str) -> list[psutil.Process]:
        """Return the processes that hold a job's steps; the job's processes end with them."""
        every = psutil.process_iter(["cmdline"])
        return [
            one for one in every if " ".join(one.info["cmdline"] or ()).startswith(f"slurmstepd: [{job}.")
        ]

    def kill_node(self, node: str) -> None:
        """Kill a node as a power cut would: its daemon and all processes of its jobs at once."""
        daemon = self._processes.pop(f"slurmd-{node}")
        jobs = [job for job, where in self.running().items() if where == node]
        steps = [step for job in jobs for step in self.steps_of(job)]
        children = [child for step in steps for child in step.children(recursive=True)]
        daemon.kill()
        for process in (*steps, *children):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        daemon.wait()

    def stop(self) -> None:
        """Stop everything, jobs first, then the daemons, each by its process id."""
        with contextlib.suppress(Exception):
            self.command("scancel", "-u", "root", check=False)
            time.sleep(1)
        for job in list(self.running() if "slurmctld" in self._processes else ()):
            for step in self.steps_of(job):
                with contextlib.suppress(psutil.NoSuchProcess):
                    step.kill()
        for process in reversed(self._processes.values()):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Provide a Slurm with two nodes, or one if it allows only one slurmd per host."""
    for count in (2, 1):
        made = Cluster(folder / f"with-{count}", count, cores=2)
        try:
            try:
                made.start()
            except RuntimeError:
                if count == 1:
                    raise
                continue
            yield made
            return
        finally:
            made.stop()
