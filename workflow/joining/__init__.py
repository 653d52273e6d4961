"""What makes it easy to join: own solvers and data beside the others, skeletons, published runs.

bench_settings  the configuration of a bench: a paper of its own, in a folder of its own
bench_run       measures it; its table is `svmrepro.workflow.tables.peers`, its figure
                `svmrepro.workflow.figures.trace`
publishing      a run as an archive
skeletons       new solvers, data sets and papers from templates
"""
