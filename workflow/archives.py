"""Published runs as zip archives, which may come from strangers: packed here, and read defensively.

An archive holds files of known kinds in at most two folders, and ``SHA256SUMS`` with a line for each of the
others. Nothing outside the target folder is ever written; sizes are limited by what is really unpacked.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from svmrepro.workflow.errors import StepError, cause, one_line, writing
from svmrepro.workflow.files import atomic_path

SUMS = "SHA256SUMS"

MOST_MEMBERS = 5_000
_LONGEST_SUM = 600  # bytes of a line of `SUMS`
MOST_BYTES = 2 * 2**30
"""Largest size of an archive, and of all that is unpacked from it."""

FRESH = 3600.0
"""Seconds for which a downloaded archive is used again."""

_SUFFIXES = (".csv", ".parquet", ".json", ".md", ".html", ".svg", ".png", ".txt")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}", re.ASCII)
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)", re.ASCII)
_CHUNK = 2**20
_UNPACKING, _ABANDONED = ".unpacking-", 86_400.0  # seconds


def pack(files: Mapping[str, bytes], target: Path) -> None:
    """Write an archive; equal files give equal bytes."""
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    with atomic_path(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in [*sorted(files.items()), (SUMS, sums.encode())]:
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.external_attr = 0o644 << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED, 9)


def is_archive(path: Path) -> bool:
    """Whether a file is an archive of a run, judged by its table of contents."""
    try:
        with zipfile.ZipFile(path) as archive:
            return SUMS in archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False


def run_folder(place: str, below: Path) -> Path:
    """Return the folder of another run: itself, or an archive (file or URL) unpacked below a folder."""
    if re.match(r"(?i)https?://", place):
        file = _downloaded(place, below)
    elif place.lower().endswith(".zip") and not Path(place).is_dir():
        file = Path(place)
    else:
        return Path(place)
    return unpack(file, below, f"against: {place}")


def unpack(file: Path, below: Path, said: str = "") -> Path:
    """Unpack an archive into a folder of its own, named by its content, and return that; see `run_folder`.

    Errors begin with what is ``said``, by default the file.
    """
    from svmrepro.datasets.download.unpacking import DAMAGED

    said = said or str(file)
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise StepError(f"{said}: is larger than {MOST_BYTES >> 20} MB")
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise StepError(f"{said}: {cause(error)}") from None
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem)[:60].strip("-.") or "run"
    target = below / f"{stem}-{digest[:12]}"
    if target.is_dir():
        return target
    with writing(target):
        below.mkdir(parents=True, exist_ok=True)
        for left in below.glob(f"{_UNPACKING}*"):  # by a killed process
            with suppress(FileNotFoundError):  # another process removed it
                if time.time() - left.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(left, ignore_errors=True)
        with TemporaryDirectory(dir=below, prefix=_UNPACKING) as temporary:
            whole = Path(temporary) / "run"
            try:
                with zipfile.ZipFile(file) as archive:
                    _extract(archive, whole)
            except ValueError as error:
                raise StepError(f"{said}: {one_line(error)}") from None
            except DAMAGED as error:
                raise StepError(f"{said}: is not a zip archive, or is damaged: {one_line(error)}") from None
            try:
                whole.rename(target)
            except OSError:  # another process was quicker
                if not target.is_dir():
                    raise
    return target


def _extract(archive: zipfile.ZipFile, folder: Path) -> None:
    """Extract all members and compare them with their checksums; the first fault raises a ValueError."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise ValueError(f"holds {len(members)} files, more than {MOST_MEMBERS}")
    seen: set[str] = set()
    for member in members:
        _check(member)
        if member.filename.lower() in seen:
            raise ValueError(f"holds {member.filename!r} twice")
        seen.add(member.filename.lower())
    digests: dict[str, str] = {}
    left = MOST_BYTES
    for member in members:
        path = folder / member.filename
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with archive.open(member) as source, path.open("xb") as target:
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise ValueError(f"holds more than {MOST_BYTES >> 20} MB unpacked")
                digest.update(chunk)
                target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
        digests[member.filename] = digest.hexdigest()
    if SUMS not in digests:
        raise ValueError(f"has no {SUMS}: it is not a published run")
    del digests[SUMS]
    if (folder / SUMS).stat().st_size > _LONGEST_SUM * MOST_MEMBERS:
        raise ValueError(f"{SUMS} is too long")
    expected = _sums((folder / SUMS).read_bytes())
    for name in sorted(digests.keys() | expected.keys()):
        if digests.get(name) != expected.get(name):
            problem = "is missing" if name not in digests else f"does not match {SUMS}"
            raise ValueError(f"{name} {problem}")


def _check(member: zipfile.ZipInfo) -> None:
    """Raise ValueError for members that are not regular files of a run."""
    from svmrepro.datasets.download.unpacking import METHODS

    name, parts = member.filename, member.filename.split("/")
    mode = member.external_attr >> 16
    if not (len(parts) <= 3 and all(_PART.fullmatch(part) for part in parts)):
        raise ValueError(f"holds {name[:100]!r}, which is not a valid path in a run")
    if name != SUMS and not name.endswith(_SUFFIXES):
        raise ValueError(f"holds {name!r}, a kind of file that no run has")
    if member.compress_type not in METHODS:
        raise ValueError(f"holds {name!r}, compressed by another method than deflate")
    if member.flag_bits & 1 or member.is_dir() or (stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
        raise ValueError(f"holds {name!r}, which is not a regular file")


def _sums(content: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(content.decode("ascii", "replace").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in found:
            raise ValueError(f"{SUMS}:{number}: is not a checksum with a file name")
        found[match[2]] = match[1]
    return found


def _downloaded(url: str, below: Path) -> Path:
    """Return the file of a URL, downloaded unless that was done within `FRESH` seconds."""
    from svmrepro.datasets.download.http import Network
    from svmrepro.datasets.errors import SourceError, StorageError

    named = re.sub(r"[^A-Za-z0-9._-]+", "-", url.partition("?")[0].rstrip("/").rpartition("/")[2])
    key = hashlib.sha256(url.encode()).hexdigest()[:12]
    file = below / "downloads" / f"{named.removesuffix('.zip')[:60].strip('-.') or 'run'}-{key}.zip"
    if file.is_file() and 0 <= time.time() - file.stat().st_mtime < FRESH:  # a clock may be set back
        return file
    with atomic_path(file) as temporary:
        try:
            Network().download(url, temporary, MOST_BYTES)
        except (SourceError, StorageError) as error:
            raise StepError(f"against: {url}: {one_line(error)}") from None
    return file
