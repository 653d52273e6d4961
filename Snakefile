"""The workflow, for `snakemake` in the root of the repository; see workflow/Snakefile."""


include: "workflow/Snakefile"


# Snakemake forgets the default target of an included file.
workflow.default_target = "all"
