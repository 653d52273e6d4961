"""Compare this run with another run, or with a reference.

The other run is a folder (`results/<scale>` of any run, or a committed reference), an archive of
`svmrepro publish`, or the URL of one: `compare results/reference/default`. It can also be given as
`--config against=OTHER`. With names of papers, only these are compared. Archives are unpacked into
`results/.others`.
"""

from __future__ import annotations

from svmrepro.workflow.running import snakemake_call

TAKES_OTHERS = True

add_arguments, run = snakemake_call.command("compare", "OTHER ")
