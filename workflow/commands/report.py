"""Write all tables and figures into one HTML file.

With names of papers, the file holds only these.
"""

from __future__ import annotations

from svmrepro.workflow.running import snakemake_call

TAKES_OTHERS = True

add_arguments, run = snakemake_call.command("report")
