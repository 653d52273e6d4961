"""Data sets: registry, download, readers, generators, nested subsets.

>>> from svmrepro import datasets
>>> data = datasets.generate("chess-board", n=1000, seed=0)
>>> data.X.shape
(1000, 2)

``load`` returns a data set by name and fetches missing files; ``fetch`` only fetches. Raw files are stored
and verified in ``<data_dir>/raw``, parsed arrays in ``<data_dir>/prepared``.

The modules and packages, from the interface down::

    loading            data sets by name, also of sizes between the nested subsets
    adult_against_a9a  our encoding of Adult, compared row by row with LIBSVM's
    prepared           parsed arrays cached on disk, their rows and labels checked against the registry
    own_files          a user's own files: their format, and which labels mean -1 and +1
    download/          finding, downloading, unpacking and verifying raw files
    readers/           file formats
    encodings          other encodings of the same columns
    generators/        generated data sets
    permutations       random orders of the examples, and nested subsets
    registry/          the data sets that are known by name
    sparse_builder     sparse matrices built piece by piece
    dataset            the types Dataset and ExampleSet
    input_checks       checks of YAML and other structured input, also of the configuration; *did you mean*
    files, errors      atomic writing and checksums; one-line errors
    locks              locks between processes
"""

from svmrepro.datasets.adult_against_a9a import compare_encoding
from svmrepro.datasets.dataset import Dataset
from svmrepro.datasets.download.raw_files import Fetched
from svmrepro.datasets.encodings import ENCODING_VERSION, ENCODINGS
from svmrepro.datasets.errors import DataError, DatasetUnavailable, StorageError
from svmrepro.datasets.generators import GENERATOR_VERSION, GENERATORS, generate
from svmrepro.datasets.loading import (
    content_key,
    describe,
    fetch,
    is_generated,
    load,
    names,
    register_file,
    resolve_size,
)
from svmrepro.datasets.own_files import UserEntry
from svmrepro.datasets.permutations import permute
from svmrepro.datasets.readers.libsvm import read_libsvm, write_libsvm
from svmrepro.datasets.registry import DownloadedEntry, GeneratedEntry

__all__ = [
    "ENCODINGS",
    "ENCODING_VERSION",
    "GENERATORS",
    "GENERATOR_VERSION",
    "DataError",
    "Dataset",
    "DatasetUnavailable",
    "DownloadedEntry",
    "Fetched",
    "GeneratedEntry",
    "StorageError",
    "UserEntry",
    "compare_encoding",
    "content_key",
    "describe",
    "fetch",
    "generate",
    "is_generated",
    "load",
    "names",
    "permute",
    "read_libsvm",
    "register_file",
    "resolve_size",
    "write_libsvm",
]
