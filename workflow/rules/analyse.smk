# From journal lines to numbers. These files can be rebuilt without timing anything.


rule analyse:
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
    params:
        step=step("analyse"),
        code=PLAN.code("steps.analyse"),
        wanted=lambda wildcards: PLAN.wanted(wildcards.paper, [wildcards.experiment]),
    shell:
        "{params.step} --paper {wildcards.paper:q} --experiment {wildcards.experiment:q} 2>&1 | tee {log:q}"


rule collect_paper:
    input:
        lambda wildcards: PLAN.analyses(wildcards.paper, CONFIG.papers[wildcards.paper].experiments),
    output:
        multiext(f"{RESULTS}/{{paper}}/measurements", ".csv", ".parquet"),
        multiext(f"{RESULTS}/{{paper}}/fits", ".csv", ".parquet"),
        multiext(f"{RESULTS}/{{paper}}/ratios", ".csv", ".parquet"),
    log:
        f"{RESULTS}/logs/collect/{{paper}}.log",
    localrule: True
    params:
        step=step("collect"),
        code=PLAN.code("steps.collect"),
        wanted=lambda wildcards: PLAN.wanted(wildcards.paper, CONFIG.papers[wildcards.paper].experiments),
    shell:
        "{params.step} --paper {wildcards.paper:q} 2>&1 | tee {log:q}"
