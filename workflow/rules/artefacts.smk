# Tables and figures: a rule for each, so that it can be asked for by its name and says in the report what it shows.
#
# A label with two values, each of half of a heading's results ("form: table" and "form: plot"), would become a switch
# between two views of each result, and a report with results that have one view alone goes blank there. So forms
# are labels of their own.

for paper, artefact in PLAN.artefacts("table"):
    files = PLAN.artefact_files(paper, artefact)

    rule:
        name:
            PLAN.target(paper, artefact.name)
        input:
            PLAN.artefact_inputs(paper, artefact),
        output:
            files["csv"],
            files["md"],
            report(
                files["html"],
                caption=f"../report/{artefact.kind}.rst",
                category=CONFIG.papers[paper].title,
                subcategory=PLAN.subcategory(paper, artefact),
                labels={"artefact": artefact.title, "table": "HTML"},
            ),
        log:
            f"{RESULTS}/logs/tabulate/{paper}/{artefact.name}.log",
        localrule: True
        params:
            paper=paper,
            artefact=artefact.name,
            title=artefact.title,
            caption=artefact.caption,
            settings=PLAN.settings_of(artefact),
            code=PLAN.code("tabulate"),
            wanted=PLAN.artefact_wanted(paper, artefact),
        shell:
            "{STEPS[tabulate]} --paper {params.paper:q} --artefact {params.artefact:q} 2>&1 | tee {log:q}"


for paper, artefact in PLAN.artefacts("figure"):
    files = PLAN.artefact_files(paper, artefact)

    rule:
        name:
            PLAN.target(paper, artefact.name)
        input:
            PLAN.artefact_inputs(paper, artefact),
        output:
            report(
                files["svg"],
                caption=f"../report/{artefact.kind}.rst",
                category=CONFIG.papers[paper].title,
                subcategory=PLAN.subcategory(paper, artefact),
                labels={"artefact": artefact.title, "plot": "SVG"},
            ),
            files["png"],
        log:
            f"{RESULTS}/logs/plot/{paper}/{artefact.name}.log",
        localrule: True
        params:
            paper=paper,
            artefact=artefact.name,
            title=artefact.title,
            caption=artefact.caption,
            settings=PLAN.settings_of(artefact),
            code=PLAN.code("plot"),
            wanted=PLAN.artefact_wanted(paper, artefact),
        shell:
            "{STEPS[plot]} --paper {params.paper:q} --artefact {params.artefact:q} 2>&1 | tee {log:q}"
