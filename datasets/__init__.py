"""Data sets: registry, download, readers, generators, nested subsets.

>>> from svmrepro import datasets
>>> data = datasets.generate("chess-board", n=1000, seed=0)
>>> data.X.shape
(1000, 2)

``load`` gives any data set by name, fetching it where it is absent; ``fetch`` only fetches. Raw files are
kept and checked in ``<data_dir>/raw``, parsed arrays in ``<data_dir>/prepared``.

The modules and packages, from the interface down:

loading         data sets by name
adult_encoding  our encoding of Adult beside the published one
prepared        parsed arrays kept on disk
download/       raw files: found, downloaded, unpacked, verified
readers/        file formats
encodings       other encodings of the same columns
generators      generated data sets; ``documents`` generates those of RCV1's shape
permutations    the same examples in another order
subsets         nested subsets
registry/       the data sets that are known by name
sparse_builder  sparse matrices made piece by piece
dataset         what every way of getting data returns
validation      structured input, and what messages say of its faults
files, errors   files on disk; errors in one line
locks           locks between processes
"""

from svmrepro.datasets.adult_encoding import compare_encoding
from svmrepro.datasets.dataset import Dataset
from svmrepro.datasets.download.search import Fetched
from svmrepro.datasets.encodings import ENCODING_VERSION, ENCODINGS
from svmrepro.datasets.errors import DataError, DatasetUnavailable, StorageError
from svmrepro.datasets.generators import GENERATOR_VERSION, GENERATORS, generate
from svmrepro.datasets.loading import (
    UserEntry,
    content_key,
    describe,
    fetch,
    is_generated,
    load,
    names,
    register_file,
    resolve_size,
)
from svmrepro.datasets.permutations import permute
from svmrepro.datasets.readers.libsvm import read_libsvm, write_libsvm
from svmrepro.datasets.registry.model import DownloadedEntry, GeneratedEntry

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
