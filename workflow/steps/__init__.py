"""The steps of the workflow. Snakemake runs each as ``python -m svmrepro.workflow.steps.<step>``.

fetch          get raw files
generate       check generated data
compile        compile the solvers
measure        measure a job: what the journal lacks; adds the machine to each record
analyse        records to measurements, exponents and ratios
collect        join the files of a paper's experiments
tabulate       tables, by the builders that `configuration.artefact_kinds` lists
plot           figures, likewise
check          compare with the reference run
overview       the first page of the report
compare        compare with another run
_command_line  what these steps share

Called as functions:

remake         tables and figures again, from a run's raw measurements
crate          RO-Crate metadata of results
closing        summary at the end of a run
"""
