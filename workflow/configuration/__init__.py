"""The configuration: read, merged, validated, and what follows from it.

`load_config` and the records of `model` are exported.

loading            ``load_config``: the files as one record, merged and checked
model              the records that all steps share
_layers            merges YAML files and command-line settings; each value knows its origin. Misspelt keys are
                   found by `datasets.input_checks`
settings           types of the configuration files
_resolve           turns the files into records
plain_yaml         reads YAML as plain data
typed_data         converts plain data of records and claims to types; light, since every step loads it
artefact_kinds     kinds of tables and figures, and the functions that build them
artefact_settings  the settings of each kind
contender_options  the options of a contender, set or default
needs              the data sets and compiled code that a configuration needs
jobs               the problems of an experiment, and the jobs that measure them: which ones there are
of_folder          the configuration that belongs to a folder of results
paths              paths of all files of a run
callers_folder     files on the command line are named relative to the folder in which `./run` was called
"""

from svmrepro.workflow.configuration.loading import load_config, merged
from svmrepro.workflow.configuration.model import (
    ROOT,
    Artefact,
    Config,
    Contender,
    Experiment,
    Paper,
    as_called,
    config_dir,
    dump_config,
    home,
    read_config,
    scale_option,
    scales,
)

__all__ = [
    "ROOT",
    "Artefact",
    "Config",
    "Contender",
    "Experiment",
    "Paper",
    "as_called",
    "config_dir",
    "dump_config",
    "home",
    "load_config",
    "merged",
    "read_config",
    "scale_option",
    "scales",
]
