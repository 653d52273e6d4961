"""The registry of data sets, read from ``registry.yaml``.

Keys of a downloaded set
    ``title``, ``licence``, ``citation``; ``mirror``, its folder in a mirror; ``reader``; ``features``,
    ``binary``, ``labels`` (label in the file -> -1 or +1); ``subsets``, the training sets, smallest first;
    ``test``, the test set; ``aliases``, size printed in a paper -> rows of the file; ``files``; ``parts``;
    ``dense``, true for an array, false for a CSR matrix; ``subset_seed``: sizes between those of ``subsets``
    are drawn by the permutation of this seed (:mod:`svmrepro.datasets.permutations`), in its order, or, if
    the subsets are files of their own, from the next larger file in the file's order; without it, they are
    the first rows; ``obtain``, instructions for files that no host gives to programs. ``subsets`` and
    ``test`` name files or parts.

Keys of a part, a training or test set that is not a single file
    ``examples``, a file, or a list of files that are concatenated; ``labels``, the label file, for formats
    with separate labels; ``skip``, the number of leading examples that do not belong to the part; ``rows``,
    by default all others; ``positives``.

Readers and their keys
    ``libsvm``; ``uci-adult``; ``delimited``, comma-separated values, described by ``columns``;
    ``mat-splits``, one structure of a MATLAB file, named by ``variable``; ``idx``, images and labels in
    separate files; ``lyrl2004``, documents in one or more files and topics in another, with ``topic`` in
    place of ``labels``; ``kdd04-physics``. For ``delimited``, ``standard`` is a list of pairs (mean, standard
    deviation) by which the first columns are scaled.

Keys of ``columns``, all optional
    ``label``, ``first`` or ``last`` (default) on a line; ``values``, text -> number, one mapping for all
    columns or a list of mappings that the columns use in rotation; ``missing``, the text of a missing value,
    whose rows are omitted. With these, ``labels`` may be texts, and null omits the rows of a label.

Keys of a generated set
    ``title``, ``citation``, ``features``, ``binary``; ``generator``, one of
    :mod:`svmrepro.datasets.generators`; ``positives``, the share of positives, if it can be set.

``stand_in_for``, for downloaded and generated sets
    the data set in whose place this one is used: results on it need not carry over to the other.

Keys of a file
    ``rows``, ``positives``; ``between``, for a file without a checksum, a smaller and a larger file: the rows
    of the smaller one must be a subsequence of this file's, and those of this file a subsequence of the
    larger one's; ``sources`` in order of preference. Its accepted *forms* are either a single one, with its
    keys given here, or a list ``forms``.

Keys of a form
    ``file``, its name in a mirror or when put there by hand; ``compression`` (gzip, bzip2, xz, compress);
    ``bytes`` and ``sha256`` of the decompressed content; ``rows_sha256``, the checksum of the rows in
    canonical form (:func:`svmrepro.datasets.download._verification.canonical_sha256`); ``wrapper_sha256``,
    the checksum of the compressed file, if that of the content is unknown: any other copy is then checked by
    its rows and ``positives``; ``max_bytes``, if the size is unknown; ``reader``, if it differs from the
    set's.

A source
    is a URL, in which ``{host}`` stands for an entry of ``hosts``, or a mapping: ``url``; ``member``, the
    file's name within a zip archive, compressed as its form says; ``form``, if the URL's last component does
    not name it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from msgspec import Struct, structs
from svmrepro.datasets.input_checks import Fault, Key, check_known, convert, did_you_mean
from svmrepro.datasets.registry.model import (
    APART,
    SUFFIXES,
    Columns,
    Described,
    DownloadedEntry,
    DownloadedKeys,
    FileEntry,
    FileForm,
    FileKeys,
    FileSource,
    GeneratedEntry,
    Part,
    PartKeys,
    Registry,
    RegistryKeys,
    SourceKeys,
)


class RegistryError(ValueError):
    """The registry is invalid; the message names the key."""


def parse_registry(text: str) -> Registry:
    """Parse and check a registry; the RegistryError about a fault names the key."""
    import yaml  # imported here to keep `import svmrepro.datasets` light

    # The C parser if PyYAML has it, because every step of the workflow waits for this.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = convert(yaml.load(text, Loader=loader), RegistryKeys, text_keys=False)
        for name in root.downloaded:
            if name in root.generated:
                raise Fault((name,), "both downloaded and generated")
        made = root.generated.items()
        return Registry(
            {name: _downloaded(name, keys, root.hosts) for name, keys in root.downloaded.items()},
            {name: GeneratedEntry(name=name, **structs.asdict(keys)) for name, keys in made},
        )
    except yaml.YAMLError as error:
        raise RegistryError(f"registry: not YAML: {' '.join(str(error).split())}") from None
    except Fault as fault:
        raise RegistryError(f"registry: {fault}") from None


@cache
def registry() -> Registry:
    """Return the registry of this package."""
    return parse_registry(resources.files(__package__).joinpath("registry.yaml").read_text(encoding="utf-8"))


def _downloaded(name: str, keys: DownloadedKeys, hosts: Mapping[str, str]) -> DownloadedEntry:
    at: Key = ("downloaded", name)
    files = {
        file: _file(file, given, hosts, (*at, "files", file), keys.files)
        for file, given in keys.files.items()
    }
    parts = {part: _part(part, given, files, (*at, "parts", part)) for part, given in keys.parts.items()}
    for part in filter(None, (*keys.subsets, keys.test)):
        if part not in parts:
            _check_files([part], files, at)
            whole = PartKeys(examples=part, positives=files[part].positives)
            parts[part] = _part(part, whole, files, (*at, "files"))
    entry = DownloadedEntry(
        name=name,
        files=files,
        parts=parts,
        columns=keys.columns and structs.replace(keys.columns, values=keys.columns.tables),
        **(_own(keys, Described) | {"mirror": keys.mirror or name}),
    )
    _check_reading(entry, at)
    if entry.columns is None and "delimited" in _readers(entry):
        entry = structs.replace(entry, columns=Columns())
    rows = [parts[part].rows for part in keys.subsets]
    if rows != sorted(set(rows)):
        raise Fault((*at, "subsets"), "sizes must rise")
    for size in keys.aliases.values():
        if size not in rows:
            raise Fault((*at, "aliases"), f"no subset has {size} rows")
    return entry


def _own(keys: Struct, kind: type[Struct]) -> dict[str, Any]:
    """Return the fields that a struct inherits from one of its bases."""
    return {field: getattr(keys, field) for field in kind.__struct_fields__}


def _file(name: str, keys: FileKeys, hosts: Mapping[str, str], at: Key, files: Collection[str]) -> FileEntry:
    only = _own(keys, FileForm)
    if not keys.forms:
        forms: tuple[FileForm, ...] = (_form(FileForm(**only), name, at),)
    elif FileForm(**only) == FileForm():
        forms = tuple(_form(form, name, (*at, "forms", i)) for i, form in enumerate(keys.forms))
    else:
        raise Fault(at, "give either 'forms' or the keys of one form, not both")
    _check_files(keys.between or (), files, (*at, "between"))
    sources = tuple(_source(given, forms, hosts, (*at, "sources", i)) for i, given in enumerate(keys.sources))
    return FileEntry(name, keys.rows, keys.positives, forms, sources, keys.between)


def _check_files(names: Iterable[str], files: Collection[str], at: Key) -> None:
    for name in names:
        if name not in files:
            raise Fault(at, f"{name!r} is not one of its files{did_you_mean(name, files)}")


def _form(form: FileForm, file: str, at: Key) -> FileForm:
    form = structs.replace(form, file=form.file or file)
    if form.wrapper_sha256 and not form.compression:
        raise Fault((*at, "wrapper_sha256"), "the form has no wrapper")
    if form.bytes is None and form.max_bytes is None:
        raise Fault((*at, "bytes"), "neither bytes nor max_bytes is given")
    if form.compression and not form.file.endswith(SUFFIXES[form.compression]):
        raise Fault((*at, "file"), f"{form.file!r} lacks its wrapper's suffix")
    return form


def _source(
    given: str | SourceKeys, forms: tuple[FileForm, ...], hosts: Mapping[str, str], at: Key
) -> FileSource:
    keys = SourceKeys(url=given) if isinstance(given, str) else given
    for host in re.findall(r"\{([a-z0-9-]+)\}", keys.url):
        check_known(host, hosts, "host", *at)
    url = re.sub(r"\{([a-z0-9-]+)\}", lambda match: hosts[match[1]], keys.url)
    if not url.startswith(("http://", "https://")):
        raise Fault(at, f"{url!r} is not an http(s) address")
    by_file = {form.file: form for form in forms}
    if keys.form is not None:
        check_known(keys.form, by_file, "form", *at, "form")
    form = by_file.get(keys.form or url.rsplit("/", 1)[-1], forms[0])
    return FileSource(url, form, keys.member)


def _part(name: str, keys: PartKeys, files: Mapping[str, FileEntry], at: Key) -> Part:
    examples = (keys.examples,) if isinstance(keys.examples, str) else keys.examples
    _check_files(filter(None, (*examples, keys.labels)), files, at)
    whole = 0
    for file in examples:
        rows = files[file].rows
        if rows is None:
            raise Fault(at, f"the rows of {file!r} are not given")
        whole += rows
    own = whole - keys.skip if keys.rows is None else keys.rows
    if not 1 <= own <= whole - keys.skip:
        raise Fault((*at, "rows"), f"its files hold {whole} rows")
    return Part(name, own, keys.positives, examples, keys.labels, keys.skip, whole)


def _readers(entry: DownloadedEntry) -> set[str]:
    return {form.reader or entry.reader for file in entry.files.values() for form in file.forms}


def _check_reading(entry: DownloadedEntry, at: Key) -> None:
    """Check that the keys are those that the set's readers know and need."""
    readers, labels = _readers(entry), dict(entry.labels)
    delimited = readers == {"delimited"}
    signed = {-1, 1} <= set(labels.values()) <= {-1, 1, None}
    by_topic, by_variable = entry.topic is not None, entry.variable is not None
    for key, what, wrong in (
        ("labels", f"{labels} is not a mapping of labels to -1 and 1", not by_topic and not signed),
        ("labels", "the topic stands in their place", by_topic and labels),
        ("columns", "only the reader delimited has them", entry.columns and "delimited" not in readers),
        (
            "variable",
            "what the reader mat-splits needs, and only it",
            by_variable != ("mat-splits" in readers),
        ),
        (
            "labels",
            "texts and null are for the reader delimited alone",
            not delimited and len(entry.numeric_labels) < len(labels),
        ),
        ("topic", "what the reader lyrl2004 needs, and only it", by_topic != ("lyrl2004" in readers)),
        ("standard", "only the reader delimited has it", entry.standard and not delimited),
        ("standard", "more pairs than features", len(entry.standard) > entry.features),
        ("dense", "binary data come as a CSR matrix", entry.dense and entry.binary),
    ):
        if wrong:
            raise Fault((*at, key), what)
    needed = f"what the reader {' or '.join(sorted(APART))} needs, and only it"
    for part in entry.parts.values():
        if (part.labels is not None) != (entry.reader in APART):
            raise Fault((*at, "parts", part.name, "labels"), needed)
