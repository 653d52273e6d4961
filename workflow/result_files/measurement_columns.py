"""Columns of ``measurements.csv`` and ``measurements.parquet``: what they mean, and their units.

A dotted name is a nested key of the JSON line. An entry also describes the columns below it
(``certificate`` for ``certificate.passed``) if they have none of their own. Null means that a value does not
apply or was not reported.
"""

from __future__ import annotations

from dataclasses import dataclass

LICENCE = "MIT"
"""Licence of the measurements, that of the repository."""


INTEGER, FLOAT, BOOLEAN, TEXT = "Int64", "Float64", "boolean", "string"
"""Types of columns: pandas' nullable ones."""

INFERRED = ""
"""Type of columns that differ between solvers or kernels: pandas infers it."""


@dataclass(frozen=True)
class Field:
    """Meaning, unit and type of a column; a pure number, a name or a text has the unit ""."""

    meaning: str
    unit: str = ""
    type: str = TEXT


FIELDS = {
    "paper": Field("paper whose experiment this is"),
    "experiment": Field("experiment of config/experiments/<paper>.yaml"),
    "dataset": Field("data set of datasets/registry/registry.yaml"),
    "n": Field("training examples", "examples", type=INTEGER),
    "n_paper": Field(
        "the paper's own number of training examples, where it differs by file", "examples", type=INTEGER
    ),
    "contender": Field("label of the solver with its options, within the experiment"),
    "seed": Field("seed of the generator, or number of the permutation", type=INTEGER),
    "repeat": Field("repeat of the same problem, from 0", type=INTEGER),
    "status": Field("optimal, uncertified, a limit that was met, an error, or not_run"),
    "reason": Field("why there is no result"),
    "flagged": Field("whether the run met other load, so that its seconds are an upper bound", type=BOOLEAN),
    "flag_reason": Field("what showed the other load"),
    "cpu_seconds": Field("CPU time of the solving thread within the call of the solver", "s", type=FLOAT),
    "wall_seconds": Field("elapsed time of the same call", "s", type=FLOAT),
    "iterations": Field("steps, as the solver's method defines them", "iterations", type=INTEGER),
    "kernel_evaluations": Field("computed kernel values", "evaluations", type=INTEGER),
    "schema": Field("version of the journal line", type=INTEGER),
    "run_id": Field("process that measured; ratios of seconds are formed within one"),
    "row": Field("key of the problem and its solvers' source code"),
    "scale": Field("scale of the run: smoke, default or paper"),
    "solver": Field("solver of svmrepro.solvers, or package.module:function"),
    "storage": Field("storage of the examples: auto, dense, csr, index or bits"),
    "encoding": Field("encoding of the data set, if not its own"),
    "axis": Field("parameter that the experiment varies: C, C_total or eps"),
    "point": Field("value of that parameter", type=FLOAT),
    "C": Field("upper bound of each multiplier", type=FLOAT),
    "bias": Field("whether the model has a threshold", type=BOOLEAN),
    "eps": Field("stopping tolerance", type=FLOAT),
    "time_limit": Field("limit of CPU time", "s", type=FLOAT),
    "memory_limit_mb": Field("limit of the solver's own memory", "MB", type=FLOAT),
    "iteration_limit": Field("limit of iterations", "iterations", type=INTEGER),
    "fingerprint": Field("hash of the solver's source code"),
    "package": Field("name and version of the package of a peer solver"),
    "protocol": Field("version of the protocol of timing, with its settings; docs/timing.md"),
    "noise": Field("state of the processor after the run, and limits on the process; null: not readable"),
    "noise.cpu": Field("processor on which the run ended", type=INTEGER),
    "noise.frequency_mhz": Field(
        "frequency of that processor; in some virtual machines nominal", "MHz", type=FLOAT
    ),
    "noise.governor": Field("frequency governor of that processor"),
    "noise.turbo": Field("whether the processor may exceed its nominal frequency", type=BOOLEAN),
    "noise.steal": Field(
        "time that the hypervisor took from all processors together, as a share of the elapsed time; "
        "null for runs below 0.25 s",
        type=FLOAT,
    ),
    "noise.throttled_seconds": Field(
        "time for which the cgroup's limit on processors stopped the run", "s", type=FLOAT
    ),
    "noise.cgroup_cpus": Field("the cgroup's limit on processors; null: none", "processors", type=FLOAT),
    "noise.cgroup_memory_bytes": Field("the cgroup's limit on memory; null: none", "bytes", type=INTEGER),
    "noise.instructions": Field(
        "instructions in user space, if they were counted", "instructions", type=INTEGER
    ),
    "peak_memory_bytes": Field("peak memory above what was resident before the call", "bytes", type=INTEGER),
    "load_before": Field(
        "load of the machine, averaged over a minute, before the run", "processes", type=FLOAT
    ),
    "load_after": Field("the same after the run", "processes", type=FLOAT),
    "time": Field("end of the run", "UTC, ISO 8601"),
    "certificate": Field("recomputed from the solution and the data, not reported by the solver", type=FLOAT),
    "certificate.passed": Field("whether the solution keeps the solver's promise within eps", type=BOOLEAN),
    "certificate.promise": Field("what the solver promises: kkt, gap or relative gap"),
    "certificate.primal": Field("primal objective", type=FLOAT),
    "certificate.dual": Field("dual objective", type=FLOAT),
    "certificate.relaxed": Field("lower bound of a cutting plane's optimum", type=FLOAT),
    "certificate.gap": Field("primal minus dual objective", type=FLOAT),
    "certificate.max_violation": Field(
        "largest violation of the optimality conditions at the threshold", type=FLOAT
    ),
    "certificate.pair_gap": Field("largest gradient that may rise minus smallest that may fall", type=FLOAT),
    "certificate.equality_residual": Field("absolute sum of y times alpha", type=FLOAT),
    "certificate.n_bound": Field("support vectors with alpha = C", "examples", type=INTEGER),
    "certificate.n_nonbound": Field("support vectors with 0 < alpha < C", "examples", type=INTEGER),
    "certificate.sampled": Field(
        "examples sampled for the violations; 0: all were computed", "examples", type=INTEGER
    ),
    "certificate.sample_seed": Field("seed of that sample, drawn after the run", type=INTEGER),
    "kernel": Field("kernel and its parameters", type=INFERRED),
    "kernel.name": Field("name of the kernel"),
    "performance": Field(
        "on the test part, as a fraction: accuracy, or precision/recall break-even point", type=FLOAT
    ),
    "options": Field("options of the solver that the configuration sets", type=INFERRED),
    "info": Field("counters that the solver reports of itself", type=INFERRED),
    "info.copy_bandwidth": Field(
        "bytes read and written by a copy of 64 MiB in this process", "bytes/s", type=INFERRED
    ),
    "info.bytes_moved": Field(
        "bytes of gradient, rows and examples that the solver touched", "bytes", type=INFERRED
    ),
    "info.least_double_gain": Field(
        "least gain of a planned step and the next one, relative to Newton's gain", type=INFERRED
    ),
    "info.iteration_bound": Field(
        "most iterations of cutting planes (Joachims 2006, Lemma 2)", "iterations", type=INFERRED
    ),
    "work": Field("elementary operations that the solver counted", "operations", type=INTEGER),
    "machine": Field("hardware and software"),
    "machine.cores": Field("physical cores", type=INTEGER),
    "machine.threads": Field("logical processors", type=INTEGER),
    "machine.thread_settings": Field("environment variables that limit threads", type=INTEGER),
    "machine.commit": Field("commit of this repository; + for a modified checkout"),
    "machine.memory_bytes": Field("memory of the machine", "bytes", type=INTEGER),
}

LABELS = {
    "cpu_seconds": "CPU seconds",
    "iterations": "iterations",
    "kernel_evaluations": "kernel evaluations",
    "work": "counted work",
    "certificate.dual": "dual objective",
    "certificate.relaxed": "lower bound of the planes",
    "certificate.gap": "duality gap",
    "certificate.max_violation": "KKT violation",
    "certificate.n_nonbound": "non-bound support vectors",
    "certificate.n_bound": "bound support vectors",
    "peak_memory_bytes": "peak memory, bytes",
    "noise.steal": "taken by the hypervisor, share",
    "noise.frequency_mhz": "frequency, MHz",
}
"""Column -> its name in comparisons and on the result site; ``work`` is the sum of its terms."""

MACHINE_IDENTITY = ("cpu", "cpu_id", "blas", "python")
"""Fields of a machine's record that define "same hardware and lock", with the libraries' versions."""

_MACHINE_LABELS = {
    "cpu": "processor",
    "cpu_id": "kind of processor: family, model, stepping, instruction sets",
    "threads": "hardware threads",
    "memory_bytes": "memory",
    "os": "system",
    "python": "Python",
    "blas": "BLAS",
    "commit": "commit of this project",
}


def machine_label(name: str) -> str:
    """Return the words for a field of a machine's record; ``versions.<package>`` is named by the package."""
    return _MACHINE_LABELS.get(name, name.removeprefix("versions."))


def field_of(column: str) -> Field | None:
    """Return the description of a column: its own, or that of the nearest key above it; None if unknown."""
    name = column
    while name not in FIELDS and "." in name:
        name = name.rpartition(".")[0]
    return FIELDS.get(name)
