"""Your own solvers and data: benches, skeletons for ``svmrepro new``, and runs to publish.

bench_settings   the configuration of a bench: a paper of its own, in a folder; checks of your solver
bench_folder     the folder of a bench, in which nothing else is overwritten
bench_run        measures it, for the command and from Python (`bench`); its tables are of kinds ``peers`` and
                 ``contenders``, its figures ``seconds-objectives`` and, for several data sets, ``profile``
publishing       the files of a run to publish
skeleton_writer  new solvers, data sets and papers from the templates in ``skeletons/``
"""
