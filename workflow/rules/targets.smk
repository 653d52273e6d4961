# What can be asked for by name besides a table or a figure.

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


# No output: it prints its verdicts whenever it is asked, and its record stays when they make it fail.
rule check:
    input:
        rules.all.input,
    localrule: True
    shell:
        "{STEPS[check]}"


# Make the present results the reference that later checks of this scale compare with.
rule reference:
    input:
        rules.all.input,
    localrule: True
    shell:
        "{STEPS[check]} --write-reference"


# No output, as check: the other folder may have changed. Without the setting there is nothing to wait for.
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
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    params:
        code=PLAN.code("graph.plan"),
    shell:
        "{PLAN.snakemake} --snakefile {workflow.main_snakefile:q} --report {output:q}"
        " --report-stylesheet {PLAN.stylesheet:q} all > {log:q} 2>&1"
