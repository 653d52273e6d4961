# From journal lines to numbers. These files can be rebuilt without timing anything.


rule analyse:
    """Analyses: medians, exponents and ratios of an experiment with 95 % intervals. Ratios are formed within one process only."""
    input:
        lambda wildcards: PLAN.job_files(wildcards.paper, wildcards.experiment),
        lambda wildcards: PLAN.paper_numbers(wildcards.paper),
    output:
        f"{RESULTS}/{{paper}}/{{experiment}}/measurements.csv",
        f"{RESULTS}/{{paper}}/{{experiment}}/fits.csv",
        f"{RESULTS}/{{paper}}/{{experiment}}/ratios.csv",
    log:
        f"{RESULTS}/logs/analyse/{{paper}}/{{experiment}}.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("analyse"),
        code=PLAN.code("steps.analyse"),
        rows=lambda wildcards: PLAN.rows_fingerprint(wildcards.paper, [wildcards.experiment]),
        nested=lambda wildcards: CONFIG.experiment(wildcards.paper, wildcards.experiment).nested,
    shell:
        "{params.step} --paper {wildcards.paper:q} --experiment {wildcards.experiment:q} 2>&1 | tee {log:q}"


rule collect_paper:
    """Collections: the numbers of a paper's experiments, joined, as CSV and Parquet."""
    input:
        lambda wildcards: PLAN.analyses(wildcards.paper, CONFIG.papers[wildcards.paper].experiments),
    output:
        multiext(f"{RESULTS}/{{paper}}/measurements", ".csv", ".parquet"),
        multiext(f"{RESULTS}/{{paper}}/fits", ".csv", ".parquet"),
        multiext(f"{RESULTS}/{{paper}}/ratios", ".csv", ".parquet"),
    log:
        f"{RESULTS}/logs/collect/{{paper}}.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("collect"),
        code=PLAN.code("steps.collect"),
        rows=lambda wildcards: PLAN.rows_fingerprint(
            wildcards.paper, CONFIG.papers[wildcards.paper].experiments
        ),
    shell:
        "{params.step} --paper {wildcards.paper:q} 2>&1 | tee {log:q}"
