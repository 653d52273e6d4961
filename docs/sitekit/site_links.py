"""Texts of the repository on pages of the site, and links that work on the site as in the plain files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

#: The page that shows each text of the repository's root.
PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "FINDINGS.md": "papers",
    "containers/README.md": "containers",
}

#: A fenced block, which is left as it is, or a link.
_FENCE_OR_LINK = re.compile(
    r"^(?P<fence>`{3,}).*?^(?P=fence)`*$|(?P<words>!?\[[^\]]*\])\((?P<target>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
#: Verdicts of a reference run, which are shown on the page of their paper.
_VERDICTS = re.compile(r"results/reference/\w+/(\w+)/claims\.md")


class TextError(Exception):
    """A text or section is missing, or a link leads nowhere."""


class Section(NamedTuple):
    """A section of the second level: its heading and the text below it."""

    heading: str
    body: str


class Texts:
    """
    The texts that one page shows.

    Parameters
    ----------
    source
        The site's folder in the repository.
    docname
        The page, relative to that folder, without its ending.
    """

    def __init__(self, source: Path, docname: str) -> None:
        self.root, self._source = source.parent, source
        self.folder = (source / docname).parent
        #: Files that the page is made of.
        self.read: set[Path] = set()

    def whole(self, file: str) -> str:
        """Return a text of the repository's root."""
        return self.linked(self._text(file), self.root)

    def opening(self, file: str) -> str:
        """Return the text between a file's title and its first section."""
        _, _, opening = _HEADING.split(self.whole(file))[0].partition("\n")
        return opening.strip("\n")

    def section(self, file: str, heading: str) -> Section:
        """
        Return the section whose heading begins with the given words.

        Raises
        ------
        TextError
            If no section begins so, or several do.
        """
        _, *parts = _HEADING.split(self.whole(file))
        headings, bodies = parts[::2], parts[1::2]
        found = [place for place, known in enumerate(headings) if known.startswith(heading)]
        if len(found) != 1:
            count = "no section" if not found else f"{len(found)} sections"
            raise TextError(f"{file} has {count} whose heading begins with {heading!r}; it has {headings}")
        return Section(headings[found[0]], bodies[found[0]].strip("\n"))

    def captions(self) -> str:
        """Return the report's caption of each kind of table and figure."""
        parts = []
        for file in sorted((self.root / "workflow" / "report").glob("*.rst")):
            if file.stem != "workflow":
                self.read.add(file)
                words = " ".join(file.read_text(encoding="utf-8").split())
                parts.append(f"- `{file.stem}`: {words}")
        return "\n".join(parts)

    def path(self, file: Path) -> str:
        """Return a file's path relative to the page's folder."""
        return Path(os.path.relpath(file, self.folder)).as_posix()

    def linked(self, text: str, base: Path) -> str:
        """
        Return a text whose links lead to pages of the site where there is one, otherwise to files.

        Parameters
        ----------
        text
            Markdown.
        base
            The folder that its links are relative to.

        Raises
        ------
        TextError
            If a link leads to a file that does not exist.
        """
        return _FENCE_OR_LINK.sub(lambda match: match[0] if match["fence"] else self._link(base, match), text)

    def _link(self, base: Path, match: re.Match[str]) -> str:
        words, target = match["words"], match["target"]
        path, mark, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        file = Path(os.path.normpath(base / path))
        if not file.exists():
            raise TextError(f"a link leads to {path}, which does not exist")
        if file.is_dir():
            # A folder has neither a page nor a download: its name remains.
            return words[1:-1]
        name = Path(os.path.relpath(file, self.root)).as_posix()
        verdicts = _VERDICTS.fullmatch(name)
        if name in PAGES:
            file = self._source / f"{PAGES[name]}.md"
        elif verdicts is not None:
            file = self._source / "papers" / f"{verdicts[1]}.md"
        return f"{words}({self.path(file)}{mark}{anchor})"

    def _text(self, file: str) -> str:
        path = self.root / file
        if not path.is_file():
            raise TextError(f"there is no {file}")
        self.read.add(path)
        return path.read_text(encoding="utf-8")
