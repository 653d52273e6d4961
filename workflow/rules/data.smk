# Each data set has a marker file that says whether it is available and, if not, why.


rule fetch_data:
    """Downloaded data: each file is checked by its hash and prepared; for a missing set the reason is recorded."""
    input:
        lambda wildcards: CONFIG.own_files(wildcards.dataset),
    output:
        f"{CONFIG.data_dir / 'available'}/{{dataset,{one_of(PLAN.downloads)}}}.json",
    log:
        f"{RESULTS}/logs/fetch/{{dataset}}.log",
    priority: 10
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("fetch"),
        # Another mirror is a reason to try again if it may have what is missing, and other sources for everything.
        attempt=lambda wildcards: attempt(CONFIG, wildcards.dataset),
        sources=PLAN.sources_fingerprint,
    shell:
        "{params.step} --dataset {wildcards.dataset:q} 2>&1 | tee {log:q}"


rule generate_data:
    """Generated data: they follow from a seed and a definition."""
    output:
        f"{CONFIG.data_dir / 'available'}/{{dataset,{one_of(PLAN.generated)}}}.json",
    log:
        f"{RESULTS}/logs/generate/{{dataset}}.log",
    priority: 10
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("generate"),
        sources=PLAN.sources_fingerprint,
    shell:
        "{params.step} --dataset {wildcards.dataset:q} 2>&1 | tee {log:q}"


# No output, so it runs whenever it is requested. It retries the sets that were tried before this command.
rule fetch:
    """Another attempt to download what is missing or was deleted."""
    input:
        [PLAN.marker(dataset) for dataset in PLAN.downloads],
    log:
        f"{RESULTS}/logs/fetch.log",
    localrule: True
    conda:
        "../envs/svmrepro.yaml"
    params:
        step=step("fetch"),
        began=str(PLAN.began),
    shell:
        "{params.step} --retry --before {params.began:q} 2>&1 | tee {log:q}"
