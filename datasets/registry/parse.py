"""The registry of data sets, read from ``registry.yaml``: data, not code.

Keys of a downloaded set
    ``title``, ``licence``, ``citation``; ``mirror``, its folder in a mirror; ``reader``; ``features``,
    ``binary``, ``labels`` (in the file -> -1 or +1); ``drawn``, how training examples are drawn, in words;
    ``subsets``, its training sets, smallest first; ``test``, its test set, each a file or one of ``parts``;
    ``aliases``, sizes that a paper prints -> rows of the file; ``files``; ``dense``, whether the examples are
    an array and not a CSR matrix; ``subset_seed``, for a set that has no files of a paper's own: a size
    between those of ``subsets`` is drawn by the permutation that this seed gives
    (:mod:`svmrepro.datasets.subsets`), not in the file's order; ``obtain``, how a person gets what no host
    gives to programs.

Keys of a part, a training or test set that is not just one file
    ``examples``, the file or the files whose examples follow one another; ``labels``, the file that holds
    their labels, where they stand apart; ``skip``, examples at the beginning that are not its own; ``rows``,
    by default all others; ``positives``.

Readers and their keys
    ``libsvm``; ``uci-adult``; ``delimited``, comma-separated values, of which ``columns`` says more;
    ``mat-splits``, one of several structures of a MATLAB file, named by ``variable``; ``idx``, images in one
    file and their labels in another; ``lyrl2004``, documents in one file or several and their topics in
    another, where ``topic`` stands in place of ``labels``; ``kdd04-physics``. With ``delimited``,
    ``standard`` is a list of pairs, mean and standard deviation: so the first columns are scaled.

Keys of ``columns``, all optional
    ``label``, ``first`` or ``last`` (so by default) on a line; ``values``, text -> number, one mapping for
    all columns or a list of mappings that the columns take in turn; ``missing``, the text of a missing
    value, whose rows are left out. ``labels`` may be texts here, and null leaves a label's rows out.

Keys of a generated set
    ``title``, ``citation``, ``features``, ``binary``; ``generator``, one of
    :mod:`svmrepro.datasets.generators`; ``positives``, the share of positives, where it can be set.

Keys of a file
    ``rows``, ``positives``; ``between``, the two files whose rows it stands between, for want of a
    checksum; ``sources`` in order of preference; and the *forms* in which it is accepted, either one, by
    the keys of a form beside these, or several in a list ``forms``.

Keys of a form
    ``file``, its name in a mirror or when put there by hand; ``compression`` (gzip, bzip2, xz, compress);
    ``bytes`` and ``sha256`` of the content, after decompression; ``rows_sha256``, the checksum of the rows in
    a canonical spelling (:func:`svmrepro.datasets.download.verify.canonical_sha256`); ``wrapper_sha256``, the
    checksum of the compressed file, where that of the content is not known: another wrapper's content is then
    judged by its rows and ``positives``; ``max_bytes`` where the size is not known; ``reader`` where it is
    not the set's.

A source
    is a URL, in which ``{host}`` stands for an entry of ``hosts``, or a mapping: ``url``; ``member``, the
    file's name within a zip archive, where it may be compressed as its form says; ``form``, where the URL's
    last part does not tell; ``limit``, the most bytes that the download may have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, TypeVar

from svmrepro.datasets.registry.model import (
    APART,
    SUFFIXES,
    Columns,
    DownloadedEntry,
    FileEntry,
    Form,
    GeneratedEntry,
    Label,
    Part,
    Registry,
    Source,
)

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SHA = re.compile(r"[0-9a-f]{64}")


class RegistryError(ValueError):
    """The registry breaks its own rules; the message names the key."""


class _Node:
    """A mapping of the registry's tree whose keys must all be taken, with the path to it for messages."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise RegistryError(f"registry: {path or 'the file'}: a mapping was expected")
        self.items: dict[Any, object] = dict(value)
        self.path = path

    def at(self, key: object) -> str:
        return f"{self.path}: {key}" if self.path else str(key)

    def take(self, key: str, convert: Callable[[object], T]) -> T:
        if key not in self.items:
            raise RegistryError(f"registry: {self.at(key)}: the key is missing")
        value = self.items.pop(key)
        try:
            return convert(value)
        except RegistryError:
            raise
        except (TypeError, ValueError, KeyError) as error:
            raise RegistryError(f"registry: {self.at(key)}: {value!r} is not {error}") from None

    def take_or(self, key: str, convert: Callable[[object], T], default: T) -> T:
        return self.take(key, convert) if key in self.items else default

    def close(self) -> None:
        if self.items:
            raise RegistryError(f"registry: {self.at(next(iter(self.items)))}: unknown key")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError("a text")
    return " ".join(value.split())


def _name(value: object) -> str:
    # Names become file names: nothing that could leave the data folder.
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise TypeError("a plain file name")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TypeError("a positive integer")
    return value


def _seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("a non-negative integer")
    return value


def _part_of_one(value: object) -> float:
    if not isinstance(value, float) or not 0.0 < value < 1.0:
        raise TypeError("a number between 0 and 1")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _sha(value: object) -> str:
    if not isinstance(value, str) or not _SHA.fullmatch(value):
        raise TypeError("a sha256 in lower-case hexadecimal")
    return value


def _compression(value: object) -> str:
    if value not in SUFFIXES:
        raise TypeError(f"one of {', '.join(SUFFIXES)}")
    return str(value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise TypeError("a list of names")
    return tuple(_name(item) for item in value)


def _pair(value: object) -> tuple[str, str]:
    names = _names(value)
    if len(names) != 2:
        raise TypeError("a pair of file names")
    return names[0], names[1]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _labels(value: object) -> dict[Label, float | None]:
    if not isinstance(value, dict) or any(map(_is_flag, value.values())):
        raise TypeError("a mapping of labels to -1 and 1")
    if not {-1, 1} <= set(value.values()) <= {-1, 1, None}:
        raise TypeError("a mapping of labels to -1 and 1")
    if not all(isinstance(given, str) or _is_number(given) for given in value):
        raise TypeError("a mapping of numbers or texts (quote yes, no, on and off) to -1 and 1")
    return {
        given if isinstance(given, str) else float(given): None if sign is None else float(sign)
        for given, sign in value.items()
    }


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _place(value: object) -> str:
    if value not in ("first", "last"):
        raise TypeError("first or last")
    return str(value)


def _field(value: object) -> str:
    if not isinstance(value, str) or not value or value != value.strip() or "," in value:
        raise TypeError("a text without commas and outer blanks")
    return value


def _values(value: object) -> tuple[dict[str, float], ...]:
    given = value if isinstance(value, list) else [value]
    tables = [table for table in given if isinstance(table, dict) and table]
    if not tables or len(tables) < len(given):
        raise TypeError("a mapping of texts to numbers, or a list of such mappings")
    if not all(_is_number(number) for table in tables for number in table.values()):
        raise TypeError("a mapping of texts to numbers, or a list of such mappings")
    # YAML reads the text 1 as a number; a flag is what it makes of an unquoted yes or no.
    if any(_is_flag(text) or not isinstance(text, str | int) for table in tables for text in table):
        raise TypeError("a mapping of texts (quote yes, no, on and off) to numbers")
    return tuple({str(text): float(number) for text, number in table.items()} for table in tables)


def _columns(value: object, path: str) -> Columns:
    node = _Node(value, path)
    columns = Columns(
        label=node.take_or("label", _place, "last"),
        values=node.take_or("values", _values, ()),
        missing=node.take_or("missing", _field, None),
    )
    node.close()
    return columns


def _standard(value: object) -> tuple[tuple[float, float], ...]:
    pairs = [pair for pair in value if isinstance(pair, list)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(pairs) < len(value):
        raise TypeError("a list of pairs of a mean and a standard deviation")
    if any(len(pair) != 2 or not all(map(_is_number, pair)) or pair[1] <= 0 for pair in pairs):
        raise TypeError("a list of pairs of a mean and a standard deviation")
    return tuple((float(mean), float(spread)) for mean, spread in pairs)


def _aliases(value: object) -> dict[int, int]:
    if not isinstance(value, dict):
        raise TypeError("a mapping of sizes to sizes")
    return {_count(paper): _count(rows) for paper, rows in value.items()}


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise TypeError("a list with at least one entry")
    return value


def _form(node: _Node, file: str) -> Form:
    form = Form(
        file=node.take_or("file", _name, file),
        compression=node.take_or("compression", _compression, None),
        bytes=node.take_or("bytes", _count, None),
        sha256=node.take_or("sha256", _sha, None),
        rows_sha256=node.take_or("rows_sha256", _sha, None),
        max_bytes=node.take_or("max_bytes", _count, None),
        reader=node.take_or("reader", _name, None),
        wrapper_sha256=node.take_or("wrapper_sha256", _sha, None),
    )
    if form.wrapper_sha256 and not form.compression:
        raise RegistryError(f"registry: {node.at('wrapper_sha256')}: the form has no wrapper")
    if form.bytes is None and form.max_bytes is None:
        raise RegistryError(f"registry: {node.at('bytes')}: neither bytes nor max_bytes is given")
    if form.compression and not form.file.endswith(SUFFIXES[form.compression]):
        raise RegistryError(f"registry: {node.at('file')}: {form.file!r} lacks its wrapper's suffix")
    return form


def _source(value: object, path: str, forms: tuple[Form, ...], hosts: Mapping[str, str]) -> Source:
    node = _Node({"url": value} if isinstance(value, str) else value, path)
    by_file = {form.file: form for form in forms}

    def expand(text: object) -> str:
        url = re.sub(r"\{([a-z0-9-]+)\}", lambda match: hosts[match[1]], _text(text))
        if not url.startswith(("http://", "https://")):
            raise TypeError("an http(s) address")
        return url

    url = node.take("url", expand)
    form = node.take_or(
        "form", lambda name: by_file[_name(name)], by_file.get(url.rsplit("/", 1)[-1], forms[0])
    )
    member = node.take_or("member", _text, None)
    limit = node.take_or("limit", _count, None)
    node.close()
    return Source(url=url, form=form, member=member, limit=limit)


def _file(name: str, value: object, path: str, hosts: Mapping[str, str]) -> FileEntry:
    node = _Node(value, path)
    rows = node.take_or("rows", _count, None)
    positives = node.take_or("positives", _count, None)
    between = node.take_or("between", _pair, None)
    given = node.take_or("forms", _list, None)
    if given is None:
        forms: tuple[Form, ...] = (_form(node, name),)
    else:
        nodes = [_Node(item, f"{path}: forms[{i}]") for i, item in enumerate(given)]
        forms = tuple(_form(item, name) for item in nodes)
        for item in nodes:
            item.close()
    urls: list[object] = node.take_or("sources", _list, [])
    sources = tuple(_source(item, f"{path}: sources[{i}]", forms, hosts) for i, item in enumerate(urls))
    node.close()
    return FileEntry(name, rows, positives, forms, sources, between)


def _part(name: str, value: object, path: str, files: Mapping[str, FileEntry]) -> Part:
    node = _Node(value, path)
    examples = node.take("examples", lambda item: (_name(item),) if isinstance(item, str) else _names(item))
    labels = node.take_or("labels", _name, None)
    skip = node.take_or("skip", _count, 0)
    whole = 0
    for file in (*examples, *([labels] if labels else [])):
        if file not in files:
            raise RegistryError(f"registry: {path}: {file!r} is named and not among the files")
    for file in examples:
        rows = files[file].rows
        if rows is None:
            raise RegistryError(f"registry: {path}: the rows of {file!r} are not given")
        whole += rows
    rows = node.take_or("rows", _count, whole - skip)
    if not 1 <= rows <= whole - skip:
        raise RegistryError(f"registry: {path}: rows: its files hold {whole} rows")
    positives = node.take_or("positives", _count, None)
    node.close()
    return Part(name, rows, positives, examples, labels, skip, whole)


def _parts(value: object, named: list[str], path: str, files: Mapping[str, FileEntry]) -> dict[str, Part]:
    """Return the parts of a set: those given, and files that are named as training or test set."""
    given = _Node(value, f"{path}: parts").items
    parts = {_name(name): _part(name, item, f"{path}: parts: {name}", files) for name, item in given.items()}
    for name in named:
        if name in parts:
            continue
        if name not in files:
            raise RegistryError(f"registry: {path}: {name!r} is named and not among its files")
        own: dict[str, object] = {"examples": name}
        parts[name] = replace(_part(name, own, f"{path}: files", files), positives=files[name].positives)
    return parts


def _downloaded(name: str, value: object, hosts: Mapping[str, str]) -> DownloadedEntry:
    path = f"downloaded: {name}"
    node = _Node(value, path)
    raw_files = node.take("files", lambda item: _Node(item, f"{path}: files").items)
    files = {
        _name(file): _file(file, item, f"{path}: files: {file}", hosts) for file, item in raw_files.items()
    }
    subsets, test = node.take("subsets", _names), node.take_or("test", _name, None)
    entry = DownloadedEntry(
        name=name,
        title=node.take("title", _text),
        licence=node.take("licence", _text),
        citation=node.take("citation", _text),
        mirror=node.take_or("mirror", _name, name),
        reader=node.take("reader", _name),
        features=node.take("features", _count),
        binary=node.take_or("binary", _flag, False),
        labels={} if "topic" in node.items else node.take("labels", _labels),
        drawn=node.take("drawn", _text),
        subsets=subsets,
        test=test,
        aliases=node.take_or("aliases", _aliases, {}),
        files=files,
        parts=_parts(node.items.pop("parts", {}), [*subsets, *([test] if test else [])], path, files),
        dense=node.take_or("dense", _flag, False),
        columns=node.take_or("columns", lambda item: _columns(item, f"{path}: columns"), None),
        variable=node.take_or("variable", _text, None),
        subset_seed=node.take_or("subset_seed", _seed, None),
        topic=node.take_or("topic", _text, None),
        standard=node.take_or("standard", _standard, ()),
        obtain=node.take_or("obtain", _text, None),
    )
    node.close()
    _check_reading(entry, path)
    if entry.columns is None and "delimited" in _readers(entry):
        entry = replace(entry, columns=Columns())
    for file in (other for item in files.values() for other in item.between or ()):
        if file not in files:
            raise RegistryError(f"registry: {path}: {file!r} is named and not among its files")
    rows = [entry.parts[part].rows for part in entry.subsets]
    if rows != sorted(set(rows)):
        raise RegistryError(f"registry: {path}: subsets: sizes must rise")
    for size in entry.aliases.values():
        if size not in rows:
            raise RegistryError(f"registry: {path}: aliases: no subset has {size} rows")
    return entry


def _readers(entry: DownloadedEntry) -> set[str]:
    return {form.reader or entry.reader for file in entry.files.values() for form in file.forms}


def _check_reading(entry: DownloadedEntry, path: str) -> None:
    """Refuse keys that the set's readers do not know, and the want of one that they need."""
    readers = _readers(entry)
    only_delimited = readers == {"delimited"}
    if entry.columns is not None and "delimited" not in readers:
        raise RegistryError(f"registry: {path}: columns: only the reader delimited has them")
    if (entry.variable is not None) != ("mat-splits" in readers):
        raise RegistryError(f"registry: {path}: variable: what the reader mat-splits needs, and only it")
    if not only_delimited and len(entry.numeric_labels) != len(entry.labels):
        raise RegistryError(f"registry: {path}: labels: texts and null are for the reader delimited alone")
    if (entry.topic is not None) != ("lyrl2004" in readers):
        raise RegistryError(f"registry: {path}: topic: what the reader lyrl2004 needs, and only it")
    if entry.standard and not only_delimited:
        raise RegistryError(f"registry: {path}: standard: only the reader delimited has it")
    if len(entry.standard) > entry.features:
        raise RegistryError(f"registry: {path}: standard: more pairs than features")
    if entry.dense and entry.binary:
        raise RegistryError(f"registry: {path}: dense: binary data come as a CSR matrix")
    subsets = [entry.parts[name] for name in entry.subsets]
    if entry.subset_seed is not None and not all(a.begins(b) for a, b in pairwise(subsets)):
        raise RegistryError(f"registry: {path}: subset_seed: the set has subsets in files of their own")
    for part in entry.parts.values():
        if (part.labels is not None) != (entry.reader in APART):
            raise RegistryError(
                f"registry: {path}: parts: {part.name}: labels: what the reader {' or '.join(sorted(APART))} "
                "needs, and only it"
            )


def _generated(name: str, value: object) -> GeneratedEntry:
    node = _Node(value, f"generated: {name}")
    entry = GeneratedEntry(
        name=name,
        title=node.take("title", _text),
        citation=node.take("citation", _text),
        generator=node.take("generator", _name),
        features=node.take("features", _count),
        binary=node.take_or("binary", _flag, False),
        positives=node.take_or("positives", _part_of_one, None),
    )
    node.close()
    return entry


def parse_registry(text: str) -> Registry:
    """Read and check a registry.

    Raises
    ------
    RegistryError
        One line naming the key that is missing, unknown or has a wrong value.
    """
    import yaml  # only here: `import svmrepro.datasets` stays light

    # The parser in C, where PyYAML has it: every step of the workflow waits for this.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = _Node(yaml.load(text, Loader=loader), "")
    except yaml.YAMLError as error:
        raise RegistryError(f"registry: not YAML: {' '.join(str(error).split())}") from None
    if root.take("version", _count) != 1:
        raise RegistryError("registry: version: only 1 is known")
    addresses = _Node(root.items.pop("hosts", {}), "hosts").items
    hosts = {str(host): _text(address) for host, address in addresses.items()}
    downloaded = root.take("downloaded", lambda value: _Node(value, "downloaded").items)
    generated = root.take("generated", lambda value: _Node(value, "generated").items)
    root.close()
    for name in [*downloaded, *generated]:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise RegistryError(f"registry: {name!r} is not a plain name")
    twice = sorted(set(downloaded) & set(generated))
    if twice:
        raise RegistryError(f"registry: {twice[0]}: both downloaded and generated")
    return Registry(
        downloaded={name: _downloaded(name, value, hosts) for name, value in downloaded.items()},
        generated={name: _generated(name, value) for name, value in generated.items()},
    )


@cache
def registry() -> Registry:
    """Return the registry of this package."""
    return parse_registry(resources.files(__package__).joinpath("registry.yaml").read_text(encoding="utf-8"))
