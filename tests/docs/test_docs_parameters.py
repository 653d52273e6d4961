"""The table of keys in config/README.md."""

from docs_support import PROJECT
from sitekit import parameters


def test_the_table_of_keys_is_todays():
    file = PROJECT / "config" / "README.md"
    assert parameters.page(file.read_text()) == file.read_text(), "./run texts writes it anew"
    assert "| `time_limit` | `30` | CPU seconds of one run; null - no limit |\n" in file.read_text()
