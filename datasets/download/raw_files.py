"""Getting the raw files of a data set: from the data folder, the mirror, or the hosts, in this order.

Raw files are kept decompressed in ``<data_dir>/raw/<data set>/``. Data sets that share a folder in a mirror
also share it here, for example when one file holds several sets. A file gets its final name only after its
content has been verified; files put there by hand pass the same checks. A wrong download is deleted, a broken
one is kept for another attempt, and the next source is tried; if none is left, the error lists why. A wrong
file put there by hand stays until a good one replaces it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from svmrepro.datasets.download._verification import Ledger, check_content
from svmrepro.datasets.download.unpacking import copy_stream, decompress, extract_member, is_compressed
from svmrepro.datasets.errors import DatasetUnavailable, SourceError, UnfinishedError
from svmrepro.datasets.files import CHUNK, locked, part_of, remove, replacing, sha256_of, storage_errors
from svmrepro.datasets.registry import DownloadedEntry, FileEntry, FileForm, FileSource

if TYPE_CHECKING:
    from svmrepro.datasets.download.http import Network

MIRROR_VARIABLE = "SVMREPRO_MIRROR"


@dataclass(frozen=True)
class StoredFile:
    """A verified raw file on disk, with its origin."""

    path: Path
    form: FileForm
    sha256: str
    origin: str


@dataclass(frozen=True)
class Fetched:
    """The result of fetching a data set.

    Attributes
    ----------
    name : str
        The data set.
    files : mapping of file name to path
        Verified files on disk. A user's own files are named by their part, ``train`` or ``test``.
    missing : mapping of file name to reasons
        Files that no source provided, with one reason per source tried.
    """

    name: str
    files: Mapping[str, Path]
    missing: Mapping[str, tuple[str, ...]]


def raw_folder(entry: DownloadedEntry, data_dir: str | Path) -> Path:
    """Return the folder of the set's raw files; it has the same name as in a mirror."""
    return Path(data_dir) / "raw" / entry.mirror


@dataclass
class _Search:
    """The search for one file of a data set; it records why each source failed."""

    entry: DownloadedEntry
    file: FileEntry
    folder: Path
    network: Network | None
    reasons: list[str] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)  # partial files that another attempt can resume

    def first(self, sources: Iterator[tuple[str, Callable[[], StoredFile]]]) -> StoredFile | None:
        """Return the file from the first source that gives it, and record why the others failed."""
        for label, get in sources:
            try:
                return get()
            except SourceError as error:
                self.reasons.append(f"{label}: {error}")
            except OSError as error:  # a read error; write errors are already StorageErrors
                self.reasons.append(f"{label}: {error.strerror or error}")
        return None

    def in_folder(self) -> Iterator[tuple[str, Callable[[], StoredFile]]]:
        """Yield the accepted forms of the file that the data folder has."""
        for form in self.file.forms:
            path = self.folder / form.stored
            if path.is_file():
                yield str(path), partial(self._judge, path, form)

    def error(self) -> DatasetUnavailable:
        """Return the error that names every source tried."""
        by_hand = str(self.folder / self.file.forms[0].file)
        by_hand += f" ({self.entry.obtain})" if self.entry.obtain else ""
        return DatasetUnavailable(f"{self.entry.name} ({self.file.name})", self.reasons, by_hand)

    def wrapped(self) -> Iterator[tuple[str, Callable[[], StoredFile]]]:
        """Yield the compressed forms in the data folder. The caller unpacks them under its lock."""
        for form in self.file.forms:
            wrapped = self.folder / form.file
            if form.compression and wrapped.is_file():
                yield str(wrapped), partial(self._accept, wrapped, form, "put there by hand", form.file)

    def elsewhere(self, mirror: str) -> Iterator[tuple[str, Callable[[], StoredFile]]]:
        """Yield the other sources in order, without an empty mirror. The caller holds the folder's lock."""
        for form in self.file.forms if mirror else ():
            place = f"{self.entry.mirror}/{form.file}"
            if "://" in mirror:
                source = FileSource(f"{mirror.rstrip('/')}/{place}", form)
                yield f"mirror {source.url}", partial(self._download, source, "mirror")
            else:
                path = Path(mirror).expanduser() / place
                yield f"mirror {path}", partial(self._accept, path, form, "mirror", form.file)
        for source in self.file.sources:
            origin = source.url + (f" ({source.member})" if source.member else "")
            yield origin, partial(self._download, source, origin)
        if not self.file.sources:
            self.reasons.append("no host is known that gives it to programs")

    def _judge(self, path: Path, form: FileForm) -> StoredFile:
        known = Ledger(self.folder).recall(path, form)
        if known is None:
            known = check_content(path, self.entry, self.file, form, self.folder), "found in the folder"
            self._note(path, form, *known)
        return StoredFile(path, form, *known)

    def _note(self, path: Path, form: FileForm, sha256: str, origin: str) -> None:
        """Record a verified file, unless a neighbour that it must be compared with is not there yet."""
        if all((self.folder / name).exists() for name in self.file.between or ()):
            Ledger(self.folder).note(path, form, sha256, origin)

    def _accept(
        self, path: Path, form: FileForm, origin: str, name: str, *, move: bool = False
    ) -> StoredFile:
        """Unpack, move or copy a file into the folder; it gets its final name once it is verified."""
        vouched = form.wrapper_sha256 is not None and sha256_of(path) == form.wrapper_sha256
        target = self.folder / form.stored
        with replacing(target) as part:
            if form.compression and is_compressed(path, form.compression):
                decompress(path, form.compression, part, form.limit, name)
            elif move:
                with storage_errors(part):
                    path.replace(part)
            else:
                with path.open("rb") as stream:
                    copy_stream(stream, part, form.limit, name)
            digest = check_content(part, self.entry, self.file, form, self.folder, vouched=vouched)
        self._note(target, form, digest, origin)
        return StoredFile(target, form, digest, origin)

    def _download(self, source: FileSource, origin: str) -> StoredFile:
        if self.network is None:
            from svmrepro.datasets.download.http import shared_network  # imports requests: only when needed

            self.network = shared_network()
        form = source.form
        whole = source.member is None and form.compression is None
        limit = form.limit if whole else 2 * form.limit + CHUNK
        # Each source has its own partial file, because compressed files differ between hosts.
        tag = hashlib.sha256(source.url.encode()).hexdigest()[:8]
        download = part_of(self.folder / form.stored, f".{tag}")
        with contextlib.ExitStack() as stack:
            stack.callback(remove, download)
            try:
                resumed = self.network.download(source.url, download, limit)
                try:
                    return self._unwrap(download, source, origin)
                except SourceError:
                    # The partial file may have been the beginning of a different file.
                    if not resumed:
                        raise
                download.unlink(missing_ok=True)
                self.network.download(source.url, download, limit)
                return self._unwrap(download, source, origin)
            except (UnfinishedError, KeyboardInterrupt):
                if download.exists() and download.stat().st_size:
                    stack.pop_all()
                    self.unfinished.append(download)
                raise

    def _unwrap(self, download: Path, source: FileSource, origin: str) -> StoredFile:
        form = source.form
        name = source.url.rsplit("/", 1)[-1]
        if source.member is None:
            return self._accept(download, form, origin, name, move=True)
        member = part_of(self.folder / form.stored, ".member")
        with contextlib.ExitStack() as stack:
            stack.callback(remove, member)
            extract_member(download, source.member, member, form.limit, name)
            return self._accept(member, form, origin, source.member.rsplit("/", 1)[-1], move=True)


def ensure_file(
    entry: DownloadedEntry,
    file: str,
    data_dir: str | Path,
    mirror: str | Path | None = None,
    *,
    download: bool = True,
    network: Network | None = None,
) -> StoredFile:
    """Return a raw file of a data set, fetching it if it is missing or invalid.

    ``mirror`` is by default that of the environment. Without ``download`` only the data folder is searched.

    Raises
    ------
    DatasetUnavailable
        No source provided the file; the error names each source with the reason.
    StorageError
        The file cannot be written.
    """
    search = _Search(entry, entry.files[file], raw_folder(entry, data_dir), network)
    found = search.first(search.in_folder())
    if found is None and (download or any(search.wrapped())):
        with locked(search.folder):
            # Another process may have fetched it while this one waited for the lock.
            search.reasons.clear()
            chosen = str(mirror if mirror is not None else os.environ.get(MIRROR_VARIABLE, ""))
            others = search.elsewhere(chosen) if download else ()
            found = search.first(chain(search.in_folder(), search.wrapped(), others))
            for partial_file in search.unfinished if found else ():
                remove(partial_file)
    if found is None:
        search.reasons += [] if download else ["it has not been fetched"]
        raise search.error()
    return found


def _in_short(missing: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the reasons of each host and mirror, with the first file of each, and then the other files."""
    reasons: dict[tuple[str, str], str] = {}
    told: set[str] = set()
    for file, failures in missing.items():
        for failure in failures:
            address = re.search(r"https?://[^/]+", failure)
            source = address[0] if address else failure.partition(" ")[0]
            # Checksums and sizes differ between files, the number of attempts between reasons that are alike.
            cause = re.sub(r"[0-9a-f]{12}\.\.\.|\d+| \(.*", "", failure.partition(": ")[2])
            if (source, cause) not in reasons:
                reasons[source, cause] = f"{file}: {failure}"
                told.add(file)
    more = [file for file in missing if file not in told]
    return [*reasons.values(), *([f"{', '.join(more)} likewise"] if more else [])]


def mirror_has_more(entry: DownloadedEntry, data_dir: str | Path, mirror: str) -> bool:
    """Tell whether a mirror may have a file of a data set that the data folder lacks; a server is asked."""
    if not mirror:
        return False
    folder = raw_folder(entry, data_dir)
    return any(
        _may_have(mirror, f"{entry.mirror}/{form.file}")
        for file in entry.files.values()
        if not any((folder / form.stored).is_file() for form in file.forms)
        for form in file.forms
    )


def _may_have(mirror: str, place: str) -> bool:
    if "://" not in mirror:
        return (Path(mirror).expanduser() / place).is_file()
    from svmrepro.datasets.download.http import shared_network  # imports requests: only when needed

    return shared_network().may_have(f"{mirror.rstrip('/')}/{place}")


def fetch_entry(
    entry: DownloadedEntry,
    data_dir: str | Path,
    mirror: str | Path | None = None,
    *,
    network: Network | None = None,
) -> Fetched:
    """Fetch the files of a data set; files that no source provides are listed as missing.

    If no source provides any of them, the error is a DatasetUnavailable.
    """
    # Files with `between` come last: they are checked against their neighbours.
    order = sorted(entry.files.values(), key=lambda file: file.between is not None)
    present: dict[str, Path] = {}
    missing: dict[str, tuple[str, ...]] = {}
    for file in order:
        try:
            stored = ensure_file(entry, file.name, data_dir, mirror, network=network)
        except DatasetUnavailable as error:
            missing[file.name] = error.reasons
        else:
            present[file.name] = stored.path
    if missing and not present:
        by_hand = f"{raw_folder(entry, data_dir)}{os.sep}" + (f" ({entry.obtain})" if entry.obtain else "")
        raise DatasetUnavailable(entry.name, _in_short(missing), by_hand)
    return Fetched(entry.name, present, missing)
