"""The result site: static pages from the folders of one or more runs.

``svmrepro site`` writes it; every page opens from disk, without a server or a network.

shown_run        a run's folder: which papers, claims, tables, figures and measurements it has
page_tables      a table read back from its HTML page
records          measurements with the line of JSON that each came from
runs_over_time   claims and exponents of all runs, by date
pages            writes the pages
report_verdicts  the verdicts alone, for the first page of the report
templates/       Jinja2
assets/          style sheet and scripts of the pages
vendor/          DataTables and Plotly, unchanged, with their licences

The pages show what a folder contains and compute nothing new. Results of an older version, a committed
reference and a run of another machine are read alike.
"""
