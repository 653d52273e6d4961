# Targets other than tables and figures.

for paper in CONFIG.papers:

    rule:
        name:
            paper
        input:
            PLAN.paper_files(paper),
        localrule: True

    for experiment in CONFIG.papers[paper].experiments:

        rule:
            name:
                PLAN.target(paper, experiment)
            input:
                PLAN.experiment_files(paper, experiment),
            localrule: True


# No output, so it prints the verdicts on every request, and a failing check does not delete its record.
rule check:
    input:
        rules.all.input,
    localrule: True
    shell:
        "{STEPS[check]}"


# Make the current results the reference for later checks of this scale.
rule reference:
    input:
        rules.all.input,
    localrule: True
    shell:
        "{STEPS[check]} --write-reference"


# No output, as for check: the other folder may have changed. Without the setting `against` it has no inputs.
rule compare:
    input:
        rules.all.input if CONFIG.against is not None else [],
    localrule: True
    shell:
        "{STEPS[compare]}"


rule report:
    input:
        rules.all.input,
        words=PLAN.report_files,
    output:
        str(paths.report(CONFIG)),
    log:
        f"{RESULTS}/logs/{paths.report(CONFIG).stem}.log",
    localrule: True
    params:
        code=PLAN.code("graph.plan"),
    shell:
        "{STEPS[overview]} && {PLAN.snakemake} --snakefile {workflow.main_snakefile:q} --report {output:q}"
        " --report-stylesheet {PLAN.stylesheet:q} all > {log:q} 2>&1"
