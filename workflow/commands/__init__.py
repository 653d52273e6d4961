"""The command line ``svmrepro``: one module for each command, imported only when it is called.

main         finds the command and calls it
run          measures, and makes tables and figures
check        the verdicts, compared with the reference run
compare      this run beside another one
remake       tables and figures again, from raw measurements
publish      a run as an archive, for others to compare with
new          skeletons of a solver, a data set, a paper
bench        solvers of one's own beside all peers, on any data
crate        RO-Crate metadata of results
report       one HTML file with everything
site         static pages of one or more runs
docs         the documentation site
texts        findings and main claims with the reference runs' numbers
test         everything that has to pass before a change lands
sums         the numerical tests under other orders of summation (no checksums)
completion   the line that makes a shell complete the words of ``./run`` and ``svmrepro``

completed_names  what a shell offers for a word
checkout         what needs a clone of the repository

A command is a module of this package and an entry of :data:`COMMANDS`. The module's docstring is its help.
It has two functions, `run` for its work and, if it has options of its own, `add_arguments`; nothing else is
needed, help and completion included:

    def add_arguments(parser: argparse.ArgumentParser) -> None: ...
    def run(given: argparse.Namespace, others: list[str]) -> int: ...

``others`` are the words that its parser does not know. Only a module with ``TAKES_OTHERS = True`` gets any.
Modules import heavy packages within `run`, because completion imports all of them.
"""

#: Name and one line of help of each command, in the order in which the help shows them.
COMMANDS = {
    "run": "measure, and make every table and figure; targets are papers, experiments, tables, figures",
    "check": "print the verdict on every claim and compare it with the reference run",
    "compare": "compare this run with another run, or with a reference",
    "remake": "make tables, intervals and figures again from a run's raw measurements",
    "publish": "pack this run's results into one archive, for others to compare with",
    "new": "write a working skeleton of a solver, a data set or a paper",
    "bench": "measure solvers side by side on your data: `bench --solver pkg.mod:fit --data my.libsvm`",
    "crate": "describe a folder of results as an RO-Crate",
    "report": "write all tables and figures into one HTML file",
    "site": "write the results of one or more runs as static pages",
    "docs": "build the documentation site",
    "texts": "write README, FINDINGS and seven pages of docs/ with the reference runs' numbers",
    "test": "check format, lint and types, run the smoke scale with its check, and run all tests",
    "sums": "run the numerical tests under other orders of summation",
    "completion": "print the line that makes your shell complete these commands",
}
