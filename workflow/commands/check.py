"""Print the verdict on every claim and compare it with the reference run of the scale.

What has not been measured yet is measured first. With names of papers, only these are judged. The exit code
is 1 if the run does not reproduce the reference.
"""

from __future__ import annotations

from svmrepro.workflow.running import snakemake_call

TAKES_OTHERS = True

add_arguments, run = snakemake_call.command("check")
