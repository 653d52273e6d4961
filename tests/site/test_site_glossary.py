"""The page of words: every term of the glossary, as HTML."""

from support import PROJECT
from svmrepro.workflow.site.glossary import read_glossary


def test_every_term_of_the_glossary_is_a_word():
    text = (PROJECT / "docs" / "glossary.md").read_text()
    words = [word for section in read_glossary() for word in section.words]
    rows = [
        line
        for line in text.splitlines()
        if line.startswith("| ") and not line.startswith(("| term", "| ---"))
    ]
    assert len(words) == len(rows) > 50


def test_markdown_becomes_html(tmp_path):
    file = tmp_path / "glossary.md"
    file.write_text(
        "# G\n\n## One\n\n| term | meaning |\n| --- | --- |\n| a < b | `x` is *y*, see [z](z.md#w) |\n"
    )
    (section,) = read_glossary(file)
    assert section.title == "One"
    assert section.words == [("a &lt; b", "<code>x</code> is <em>y</em>, see z")]
