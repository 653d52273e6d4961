# One rule compiles, alone. Then jobs run alone on the machine, one at a time unless timed_jobs is set.


rule compile_solvers:
    output:
        PLAN.compiled,
    log:
        f"{RESULTS}/logs/compile.log",
    priority: 20
    params:
        step=step("compile"),
        combinations=PLAN.combinations,
    shell:
        "{params.step} --output {output:q} 2>&1 | tee {log:q}"


# Lines are appended to the experiment's journal as they are made; the output holds the current ones. A job
# takes all cores (or its share), so that nothing runs beside a timed run. The step itself pins libraries to
# one thread.
rule measure:
    input:
        unpack(PLAN.job_inputs),
    output:
        f"{RESULTS}/{{paper}}/{{experiment}}/runs/{{job}}.jsonl",
    log:
        f"{RESULTS}/logs/measure/{{paper}}/{{experiment}}/{{job}}.log",
    priority: 5
    threads: max(1, workflow.cores // CONFIG.timed_jobs)
    # A constant: otherwise Snakemake would compute the same folder again for each of thousands of jobs.
    resources:
        tmpdir=tempfile.gettempdir(),
    params:
        step=step("measure"),
        wanted=lambda wildcards: PLAN.jobs(wildcards.paper, wildcards.experiment)[wildcards.job].wanted(),
    shell:
        "{params.step} --paper {wildcards.paper:q} --experiment {wildcards.experiment:q}"
        " --job {wildcards.job:q} --log {log:q}"
