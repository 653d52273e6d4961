"""The table of keys in config/README.md."""

from docs_support import text_of
from sitekit import parameters
from sitekit.numbers import filled


def test_the_table_of_keys_is_todays():
    text = text_of("config/README.md")
    assert filled(parameters.page(text)) == text, "./run texts writes it anew"
    row = "| `time_limit` | number above 0, null | `30` | CPU seconds of one run; null - no limit |\n"
    assert row in text
