"""The data sets that are known by name.

model  the keys of ``registry.yaml`` and the entries, as typed records
parse  reading the file, and the checks that types cannot express
"""

from svmrepro.datasets.registry.model import (
    Columns,
    DownloadedEntry,
    FileEntry,
    FileForm,
    FileSource,
    GeneratedEntry,
    Label,
    Part,
    Registry,
    RegistryKeys,
)
from svmrepro.datasets.registry.parse import RegistryError, parse_registry, registry

__all__ = [
    "Columns",
    "DownloadedEntry",
    "FileEntry",
    "FileForm",
    "FileSource",
    "GeneratedEntry",
    "Label",
    "Part",
    "Registry",
    "RegistryError",
    "RegistryKeys",
    "parse_registry",
    "registry",
]
