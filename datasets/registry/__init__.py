"""The data sets that are known by name.

registry.yaml  the data sets: sources, checksums, reader, sizes
model          the keys of that file and its entries, as typed records
parse          reading the file, and the checks that types cannot express: URLs, checksums, forms
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
