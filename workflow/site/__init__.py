"""The result site: static pages from the folders of one or more runs.

``svmrepro site`` writes it; every page opens from disk, without a server or a network.

pages             which pages there are; renders and writes them
shown_run         what templates show of a run, read from its folder: papers, claims (``ShownClaim``), tables,
                  figures, measurements
run_folders       the folders and archives of runs at a place
tables_from_html  a table read back from its HTML page
records           measurements with the line of JSON that each came from
timing_record     what measurements recorded of their machine and of noise
glossary          the glossary of the documentation
rule_graph        the graph of the workflow's rules, from Snakemake
runs_over_time    claims and exponents of all runs, by date
templates/        Jinja2, one file for each kind of page: claim.html, paper.html, ...; files with a leading
                  underscore are parts of pages
assets/           style sheet and scripts: tables to sort and filter (``tables.js``), figures (``plots.js``),
                  lines of JSON (``records.js``), light and dark (``theme.js``)
vendor/           DataTables and Plotly, unchanged, with their licences

The pages show what a folder contains and compute nothing new. A committed reference and a run of
another machine are read alike.
"""
