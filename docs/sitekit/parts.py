"""Parts of the repository's own texts, by their headings, with links that lead on from a page of the site."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

#: Where a link to a whole text leads on the site.
PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "FINDINGS.md": "papers",
}

_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
#: The verdicts of a reference run, which stand on its paper's page.
_VERDICTS = re.compile(r"results/reference/\w+/(\w+)/claims\.md")
_CLAIMED = re.compile(r"""\bpart\("([^"]+)", "([^"]+)"\)""")


class PartError(Exception):
    """A text has no such part, or leads nowhere."""


class Section(NamedTuple):
    """A section of the second level: its heading and what stands below it."""

    heading: str
    body: str


class Texts:
    """
    What one page takes from the repository's texts.

    Parameters
    ----------
    root
        The repository.
    source
        The site's folder in it.
    docname
        The page, relative to that folder and without its ending.
    """

    def __init__(self, root: Path, source: Path, docname: str) -> None:
        self.root, self._source, self._docname = root, source, docname
        self._folder = (source / docname).parent
        #: Files that the page is made of.
        self.read: set[Path] = set()

    # -- for pages ----------------------------------------------------------------------------------

    def part(self, file: str, heading: str) -> str:
        """Return a section of a file without its heading, which begins so."""
        return self._linked(file, self._find(file, heading).body)

    def has_part(self, file: str, heading: str) -> bool:
        """Whether a file has a section whose heading begins so."""
        return any(section.heading.startswith(heading) for section in self._sections(file)[1])

    def heading(self, file: str, heading: str) -> str:
        """Return the whole heading of the section that begins so."""
        return self._find(file, heading).heading

    def opening(self, file: str) -> str:
        """Return what stands between a file's title and its first section, save lists of contents."""
        lines = _lines(self._sections(file)[0])
        kept = [line for line, fenced in lines if fenced or not line.startswith(("# ", "- ["))]
        return self._linked(file, "\n".join(kept))

    def rest(self, file: str, besides: Iterable[str] = ()) -> str:
        """Return the sections of a file that no page takes a part of, save those named, with headings."""
        taken = (*self._claimed(file), *besides)
        sections = [
            f"## {section.heading}\n\n{section.body}"
            for section in self._sections(file)[1]
            if not section.heading.startswith(taken)
        ]
        return self._linked(file, "\n\n".join(sections))

    def whole(self, file: str) -> str:
        """Return a file."""
        return self._linked(file, self._text(file))

    def captions(self) -> str:
        """Return, kind by kind, what the report says of its tables and figures."""
        parts = []
        for file in sorted((self.root / "workflow" / "report").glob("*.rst")):
            if file.stem != "workflow":
                self.read.add(file)
                words = " ".join(file.read_text(encoding="utf-8").split())
                parts.append(f"`{file.stem}`\n: {words}\n")
        return "\n".join(parts)

    # -- for other modules --------------------------------------------------------------------------

    def path(self, file: Path) -> str:
        """Return a file of the repository as it is called from the page's folder."""
        return Path(os.path.relpath(file, self._folder)).as_posix()

    # -- inside -------------------------------------------------------------------------------------

    def _text(self, file: str) -> str:
        path = self.root / file
        if not path.is_file():
            raise PartError(f"there is no {file}")
        self.read.add(path)
        return path.read_text(encoding="utf-8")

    def _sections(self, file: str) -> tuple[str, list[Section]]:
        """Cut a file at the headings of its second level: what stands before them, and the sections."""
        opening: list[str] = []
        sections: list[tuple[str, list[str]]] = []
        for line, fenced in _lines(self._text(file)):
            if line.startswith("## ") and not fenced:
                sections.append((line[3:].strip(), []))
            else:
                (sections[-1][1] if sections else opening).append(line)
        return "\n".join(opening), [
            Section(heading, "\n".join(body).strip("\n")) for heading, body in sections
        ]

    def _find(self, file: str, heading: str) -> Section:
        found = [section for section in self._sections(file)[1] if section.heading.startswith(heading)]
        if len(found) != 1:
            count = "no section" if not found else f"{len(found)} sections"
            known = ", ".join(repr(section.heading) for section in self._sections(file)[1])
            raise PartError(f"{file} has {count} whose heading begins with {heading!r}; it has {known}")
        return found[0]

    def _claimed(self, file: str) -> dict[str, str]:
        """Return the parts of a file that pages take, with these pages."""
        return {
            heading: page
            for page, text in self._pages.items()
            for name, heading in _CLAIMED.findall(text)
            if name == file
        }

    @cached_property
    def _pages(self) -> dict[str, str]:
        pages = sorted(self._source.rglob("*.md"))
        return {
            page.relative_to(self._source).with_suffix("").as_posix(): page.read_text(encoding="utf-8")
            for page in pages
        }

    def _linked(self, file: str, text: str) -> str:
        """Let the links of a text of the repository's root lead to the same things from this page."""
        lines = []
        for line, fenced in _lines(text):
            lines.append(line if fenced else _LINK.sub(lambda match: self._link(file, match), line))
        return "\n".join(lines)

    def _link(self, file: str, match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "://" in target:
            return match[0]
        path, _, anchor = target.partition("#")
        path = path or file
        if path in PAGES:
            return f"{words}({self._page_of(path, anchor)})"
        if not (self.root / path).exists():
            raise PartError(f"{file} leads to {path}, which does not exist")
        verdicts = _VERDICTS.fullmatch(path)
        if verdicts is not None:
            page = self._source / "papers" / f"{verdicts[1]}.md"
            return f"{words}({Path(os.path.relpath(page, self._folder)).as_posix()})"
        # A folder is no page and no file to be had: its name stays.
        return f"{words}({self.path(self.root / path)})" if (self.root / path).is_file() else words[1:-1]

    def _page_of(self, file: str, anchor: str) -> str:
        """Return the address of a section of a text, wherever on the site it stands."""
        page = PAGES[file]
        if anchor:
            # A part stands without its own heading, so its page as a whole is meant.
            taken = {
                _slug(self._find(file, heading).heading): page
                for heading, page in self._claimed(file).items()
                if self.has_part(file, heading)
            }
            if anchor in taken:
                page, anchor = taken[anchor], ""
        if page == self._docname and anchor:
            return f"#{anchor}"
        address = Path(os.path.relpath(self._source / f"{page}.md", self._folder)).as_posix()
        return f"{address}#{anchor}" if anchor else address


def _slug(heading: str) -> str:
    """Return the anchor that a heading has on the usual hosts of repositories."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it belongs to a fenced block."""
    fence = ""
    for line in text.splitlines():
        mark = re.match(r"`{3,}", line)
        if fence:
            yield line, True
            if mark and line.strip("`") == "" and len(mark[0]) >= len(fence):
                fence = ""
        elif mark:
            fence = mark[0]
            yield line, True
        else:
            yield line, False
