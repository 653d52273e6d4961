# First the solvers are compiled. Then jobs run alone on the machine, one at a time unless `timed_jobs`
# (config/config.yaml) exceeds 1.


# One job for each paper, so that one paper or figure waits only for what it needs. Where jobs measure side by side,
# none does so while another compiles.
rule compile_solvers:
    """Compiled solvers: made once, before any timed run, so that no timed run compiles anything."""
    output:
        PLAN.compiled_file,
    log:
        f"{RESULTS}/logs/compile/{{paper}}-{{combinations}}.log",
    wildcard_constraints:
        combinations="[0-9a-f]+",
    priority: 20
    conda:
        "../envs/svmrepro.yaml"
    threads: 1 if CONFIG.timed_jobs == 1 else workflow.cores
    params:
        step=step("compile"),
    shell:
        "{params.step} --paper {wildcards.paper:q} --output {output:q} 2>&1 | tee {log:q}"


rule compile:
    """Compiled solvers of all papers."""
    input:
        [PLAN.compiled[paper] for paper in CONFIG.papers],
    localrule: True


# Lines are appended to the experiment's journal as they are made; the output holds the current ones. `threads`
# gives a job all cores, or with several timed jobs an equal share of them, so that nothing else runs beside a
# timed run. The step itself pins libraries to one thread.
rule measure:
    """Measurements: all contenders of a problem, interleaved on the same arrays in one warmed process, one job at a time. A certificate that is independent of the solvers checks each solution. Each run is a line of JSON."""
    input:
        unpack(PLAN.job_inputs),
    output:
        f"{RESULTS}/{{paper}}/{{experiment}}/runs/{{job}}.jsonl",
    log:
        f"{RESULTS}/logs/measure/{{paper}}/{{experiment}}/{{job}}.log",
    priority: 5
    conda:
        "../envs/svmrepro.yaml"
    threads: max(1, workflow.cores // CONFIG.timed_jobs)
    # A constant: otherwise Snakemake would compute the same folder again for each of thousands of jobs.
    resources:
        tmpdir=tempfile.gettempdir(),
    params:
        step=step("measure"),
        rows=lambda wildcards: PLAN.jobs(wildcards.paper, wildcards.experiment)[wildcards.job].fingerprint(),
    shell:
        "{params.step} --paper {wildcards.paper:q} --experiment {wildcards.experiment:q}"
        " --job {wildcards.job:q} --log {log:q}"
