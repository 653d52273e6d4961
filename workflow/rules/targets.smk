# Targets other than tables and figures.

for paper in CONFIG.papers:

    rule:
        """All tables and figures of a paper."""
        name:
            paper
        input:
            PLAN.paper_files(paper),
        localrule: True

    for experiment in CONFIG.papers[paper].experiments:

        rule:
            """All tables and figures of an experiment."""
            name:
                PLAN.target(paper, experiment)
            input:
                PLAN.experiment_files(paper, experiment),
            localrule: True


# No output, so it prints the verdicts on every request, and a failing check does not delete its record.
rule check:
    """Check: the verdicts on the claims, and whether counts, objectives and verdicts of the reference run are reproduced."""
    input:
        rules.all.input,
    log:
        f"{RESULTS}/logs/check.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("check"),
    shell:
        "{params.step} 2>&1 | tee {log:q}"


# Make the current results the reference for later checks of this scale.
rule reference:
    """Reference: makes this run the one that later checks compare with."""
    input:
        rules.all.input,
    log:
        f"{RESULTS}/logs/reference.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("check"),
    shell:
        "{params.step} --write-reference 2>&1 | tee {log:q}"


# No output, as for check: the other folder may have changed. Without the setting `against` it has no inputs.
rule compare:
    """Comparison: this run beside another one."""
    input:
        rules.all.input if CONFIG.against is not None else [],
    log:
        f"{RESULTS}/logs/compare.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("compare"),
    shell:
        "{params.step} 2>&1 | tee {log:q}"


rule report:
    """Report: one HTML file, the archive of this run, with the graph of its jobs."""
    input:
        rules.all.input,
        words=PLAN.report_files,
    output:
        str(paths.report(CONFIG)),
    log:
        f"{RESULTS}/logs/{paths.report(CONFIG).stem}.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("overview"),
        snakemake=lambda wildcards, threads: PLAN.snakemake,
        snakefile=lambda wildcards, threads: str(workflow.main_snakefile),
        stylesheet=lambda wildcards, threads: PLAN.stylesheet,
        code=PLAN.code("graph.plan"),
        # A workflow that uses this one as a module may rename its rules.
        everything=rules.all.rule.name,
    shell:
        "{params.step} && {params.snakemake} --snakefile {params.snakefile:q} --report {output:q}"
        " --report-stylesheet {params.stylesheet:q} {params.everything:q} > {log:q} 2>&1"
