"""Columns of ``measurements.csv`` and ``measurements.parquet``: what they mean, and their units.

A dotted name is a nested key of the JSON line. An entry also describes the columns below it
(``certificate`` for ``certificate.passed``) if they have none of their own. Null means that a value does not
apply or was not reported.
"""

from __future__ import annotations

from dataclasses import dataclass

LICENCE = "MIT"
"""Licence of the measurements, that of the repository."""


@dataclass(frozen=True)
class Field:
    """Meaning and unit of a column; a pure number, a name or a text has the unit ""."""

    meaning: str
    unit: str = ""


FIELDS = {
    "paper": Field("paper whose experiment this is"),
    "experiment": Field("experiment of config/experiments/<paper>.yaml"),
    "dataset": Field("data set of datasets/registry/registry.yaml"),
    "n": Field("training examples", "examples"),
    "n_paper": Field("the paper's own number of training examples, where it differs by file", "examples"),
    "contender": Field("label of the solver with its options, within the experiment"),
    "seed": Field("seed of the generator, or number of the permutation"),
    "repeat": Field("repeat of the same problem, from 0"),
    "status": Field("optimal, uncertified, a limit that was met, an error, or not_run"),
    "reason": Field("why there is no result"),
    "flagged": Field("whether the run met other load, so that its seconds are an upper bound"),
    "flag_reason": Field("what showed the other load"),
    "cpu_seconds": Field("CPU time of the solving thread within the call of the solver", "s"),
    "wall_seconds": Field("elapsed time of the same call", "s"),
    "iterations": Field("steps, as the solver's method defines them", "iterations"),
    "kernel_evaluations": Field("computed kernel values", "evaluations"),
    "schema": Field("version of the journal line"),
    "run_id": Field("process that measured; ratios of seconds are formed within one"),
    "row": Field("key of the problem and its solvers' source code"),
    "scale": Field("scale of the run: smoke, default or paper"),
    "solver": Field("solver of svmrepro.solvers, or package.module:function"),
    "storage": Field("storage of the examples: auto, dense, csr, index or bits"),
    "encoding": Field("encoding of the data set, if not its own"),
    "axis": Field("parameter that the experiment varies: C, C_total or eps"),
    "point": Field("value of that parameter"),
    "C": Field("upper bound of each multiplier"),
    "bias": Field("whether the model has a threshold"),
    "eps": Field("stopping tolerance"),
    "time_limit": Field("limit of CPU time", "s"),
    "memory_limit_mb": Field("limit of the solver's own memory", "MB"),
    "iteration_limit": Field("limit of iterations", "iterations"),
    "fingerprint": Field("hash of the solver's source code"),
    "package": Field("name and version of the package of a peer solver"),
    "protocol": Field("version of the protocol of timing, with its settings; docs/timing.md"),
    "noise": Field("state of the processor after the run, and limits on the process; null: not readable"),
    "noise.cpu": Field("processor on which the run ended"),
    "noise.frequency_mhz": Field("frequency of that processor; in some virtual machines nominal", "MHz"),
    "noise.governor": Field("frequency governor of that processor"),
    "noise.turbo": Field("whether the processor may exceed its nominal frequency"),
    "noise.steal": Field(
        "time that the hypervisor took from all processors together, as a share of the elapsed time; "
        "null for runs below 0.25 s"
    ),
    "noise.throttled_seconds": Field("time for which the cgroup's limit on processors stopped the run", "s"),
    "noise.cgroup_cpus": Field("the cgroup's limit on processors; null: none", "processors"),
    "noise.cgroup_memory_bytes": Field("the cgroup's limit on memory; null: none", "bytes"),
    "noise.instructions": Field("instructions in user space, if they were counted", "instructions"),
    "peak_memory_bytes": Field("peak memory above what was resident before the call", "bytes"),
    "load_before": Field("load of the machine, averaged over a minute, before the run", "processes"),
    "load_after": Field("the same after the run", "processes"),
    "time": Field("end of the run", "UTC, ISO 8601"),
    "certificate": Field("recomputed from the solution and the data, not reported by the solver"),
    "certificate.passed": Field("whether the solution keeps the solver's promise within eps"),
    "certificate.promise": Field("what the solver promises: kkt, gap or relative gap"),
    "certificate.primal": Field("primal objective"),
    "certificate.dual": Field("dual objective"),
    "certificate.relaxed": Field("lower bound of a cutting plane's optimum"),
    "certificate.gap": Field("primal minus dual objective"),
    "certificate.max_violation": Field("largest violation of the optimality conditions at the threshold"),
    "certificate.pair_gap": Field("largest gradient that may rise minus smallest that may fall"),
    "certificate.equality_residual": Field("absolute sum of y times alpha"),
    "certificate.n_bound": Field("support vectors with alpha = C", "examples"),
    "certificate.n_nonbound": Field("support vectors with 0 < alpha < C", "examples"),
    "certificate.sampled": Field("examples sampled for the violations; 0: all were computed", "examples"),
    "certificate.sample_seed": Field("seed of that sample, drawn after the run"),
    "kernel": Field("kernel and its parameters"),
    "performance": Field("on the test part, as a fraction: accuracy, or precision/recall break-even point"),
    "options": Field("options of the solver that the configuration sets"),
    "info": Field("counters that the solver reports of itself"),
    "info.copy_bandwidth": Field("bytes read and written by a copy of 64 MiB in this process", "bytes/s"),
    "info.bytes_moved": Field("bytes of gradient, rows and examples that the solver touched", "bytes"),
    "info.least_double_gain": Field(
        "least gain of a planned step and the next one, relative to Newton's gain"
    ),
    "info.iteration_bound": Field("most iterations of cutting planes (Joachims 2006, Lemma 2)", "iterations"),
    "work": Field("elementary operations that the solver counted", "operations"),
    "machine": Field("hardware and software"),
    "machine.commit": Field("commit of this repository; + for a modified checkout"),
    "machine.memory_bytes": Field("memory of the machine", "bytes"),
}


def field_of(column: str) -> Field | None:
    """Return the description of a column: its own, or that of the nearest key above it; None if unknown."""
    name = column
    while name not in FIELDS and "." in name:
        name = name.rpartition(".")[0]
    return FIELDS.get(name)
