# Tables are made by the step tabulate, figures by the step plot. One rule for all tables, or all figures, with the
# same inputs, named by Plan.maker, and one target name for each artefact. Each has an explanation in the report,
# workflow/report/<kind>.rst.
#
# The forms are separate labels, not two values of one label ("form: table", "form: plot"). With two such
# values, Snakemake's report turns the label into a switch between two views, and goes blank for results with
# only one view.
#
# Two loops, not one over both forms: Snakemake evaluates the text of a shell command again when the job runs,
# where a variable of the loop has its last value.


def outputs(paper, artefacts):
    """Return the output files of tables or figures, with their report entries."""
    found = []
    for each in artefacts:
        files = PLAN.artefact_files(paper, each)
        if each.form == "table":
            found += [files["csv"], files["md"], shown(paper, each, files["html"], "table", "HTML")]
            found += [files["json"]] if "json" in files else []
        else:
            found += [shown(paper, each, files["svg"], "plot", "SVG"), files["png"], files["json"]]
    return found


def shown(paper, artefact, file, label, form):
    """Mark a file for the report, with its explanation and labels."""
    return report(
        file,
        caption=f"../report/{artefact.kind}.rst",
        category=CONFIG.papers[paper].title,
        subcategory=PLAN.subcategory(paper, artefact),
        labels={"artefact": artefact.title, label: form},
    )


for paper, artefacts in PLAN.artefacts("table"):

    rule:
        """Tables: measured numbers beside the paper's own, and the verdicts on its claims."""
        name:
            PLAN.maker(paper, artefacts)
        input:
            PLAN.artefact_inputs(paper, artefacts[0]),
        output:
            outputs(paper, artefacts),
        log:
            f"{RESULTS}/logs/tabulate/{paper}/{artefacts[0].name}.log",
        localrule: True
        conda:
            "../envs/svmrepro.yaml"
        params:
            step=step("tabulate"),
            paper=paper,
            artefacts=[each.name for each in artefacts],
            settings=PLAN.settings_fingerprint(paper, artefacts),
            code=PLAN.artefacts_code(artefacts),
            rows=PLAN.artefacts_fingerprint(paper, artefacts),
        shell:
            "{params.step} --paper {params.paper:q} --artefact {params.artefacts:q} 2>&1 | tee {log:q}"


for paper, artefacts in PLAN.artefacts("figure"):

    rule:
        """Figures: as pictures, and as the numbers that they draw."""
        name:
            PLAN.maker(paper, artefacts)
        input:
            PLAN.artefact_inputs(paper, artefacts[0]),
        output:
            outputs(paper, artefacts),
        log:
            f"{RESULTS}/logs/plot/{paper}/{artefacts[0].name}.log",
        localrule: True
        conda:
            "../envs/svmrepro.yaml"
        params:
            step=step("plot"),
            paper=paper,
            artefacts=[each.name for each in artefacts],
            settings=PLAN.settings_fingerprint(paper, artefacts),
            code=PLAN.artefacts_code(artefacts),
            rows=PLAN.artefacts_fingerprint(paper, artefacts),
        shell:
            "{params.step} --paper {params.paper:q} --artefact {params.artefacts:q} 2>&1 | tee {log:q}"


for paper, artefacts in [*PLAN.artefacts("table"), *PLAN.artefacts("figure")]:
    for artefact in artefacts if len(artefacts) > 1 else []:

        rule:
            """One artefact of several that are made together."""
            name:
                PLAN.target(paper, artefact.name)
            input:
                list(PLAN.artefact_files(paper, artefact).values()),
            localrule: True
