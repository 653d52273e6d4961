"""The configuration: read, layered, validated, and what follows from it.

model              the records that all steps share
layers             YAML files and command-line settings, merged; each value knows its origin
settings           what the files may hold, as types
resolve            from the files to records
plain_yaml         YAML as plain data
typed_data         plain data as types
contender_options  the options of a contender, be they set or defaults
needs              data sets and compiled code that a configuration needs
jobs               the problems of an experiment, and the jobs that measure them
paths              where every file of a run lies
"""
