"""Compare this run with another run, or with a reference.

`--config against=FOLDER` names the folder of the other results: `results/<scale>` of any run, or a committed
reference. With names of papers, only these are compared.
"""

from __future__ import annotations

from svmrepro.workflow.running import snakemake_call

TAKES_OTHERS = True

add_arguments, run = snakemake_call.command("compare")
