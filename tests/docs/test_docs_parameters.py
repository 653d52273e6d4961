"""The table of keys in config/README.md."""

from docs_support import PROJECT
from sitekit import parameters
from sitekit.numbers import filled


def test_the_table_of_keys_is_todays():
    file = PROJECT / "config" / "README.md"
    assert filled(parameters.page(file.read_text())) == file.read_text(), "./run texts writes it anew"
    assert (
        "| `time_limit` | number above 0, null | `30` | CPU seconds of one run; null - no limit |\n"
        in file.read_text()
    )
