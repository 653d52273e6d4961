"""The registry: what it holds, and how it names its own faults."""

from __future__ import annotations

from importlib import resources

import pytest
import yaml
from datasets_support import HEAD
from svmrepro.datasets import GENERATORS
from svmrepro.datasets.entries import DownloadedEntry
from svmrepro.datasets.readers import READERS
from svmrepro.datasets.registry import RegistryError, parse_registry, registry

TOY = (
    HEAD.replace("SUBSETS", "[toy]")
    + "      toy:\n        rows: 10\n        bytes: 99\n        sha256: "
    + "f" * 64
    + "\n        sources: ['{host}/toy']\ngenerated: {}\nhosts: {host: 'https://example.org/sets'}\n"
)


def test_a_registry_that_is_right() -> None:
    entry = parse_registry(TOY).downloaded["toy"]
    assert entry.rows == 10
    assert entry.mirror == "toy"
    assert entry.files["toy"].sources[0].url == "https://example.org/sets/toy"
    assert entry.files["toy"].sources[0].form is entry.files["toy"].forms[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    reader: libsvm\n", "", "downloaded: toy: reader: the key is missing"),
        ("reader: libsvm", "raeder: libsvm\n    reader: x", "downloaded: toy: raeder: unknown key"),
        ("rows: 10", "rows: ten", "downloaded: toy: files: toy: rows: 'ten' is not a positive integer"),
        ("rows: 10", "rows: 0", "downloaded: toy: files: toy: rows: 0 is not a positive integer"),
        ("rows: 10", "rosw: 10", "downloaded: toy: files: toy: rows: the key is missing"),
        ("bytes: 99", "byts: 99", "downloaded: toy: files: toy: bytes: neither bytes nor max_bytes is given"),
        ("f" * 64, "F" * 64, f"downloaded: toy: files: toy: sha256: {'F' * 64!r} is not a sha256"),
        ("binary: true", "binary: 1", "downloaded: toy: binary: 1 is not true or false"),
        (
            "{-1: -1, 1: 1}",
            "{-1: 1, 1: 1}",
            "downloaded: toy: labels: {-1: 1, 1: 1} is not a mapping of labels",
        ),
        (
            "subsets: [toy]",
            "subsets: [toy, other]",
            "downloaded: toy: 'other' is named and not among its files",
        ),
        ("subsets: [toy]", "subsets: []", "downloaded: toy: subsets: [] is not a list of names"),
        (
            "subsets: [toy]",
            "subsets: [../toy]",
            "downloaded: toy: subsets: ['../toy'] is not a plain file name",
        ),
        (
            "{host}/toy",
            "{hots}/toy",
            "downloaded: toy: files: toy: sources[0]: url: '{hots}/toy' is not 'hots'",
        ),
        (
            "{host}/toy",
            "file:///toy",
            "downloaded: toy: files: toy: sources[0]: url: 'file:///toy' is not an http",
        ),
        ("bytes: 99", "bytes: 99\n        compression: zip", "'zip' is not one of gzip, bzip2, xz"),
        ("bytes: 99", "bytes: 99\n        compression: gzip", "file: 'toy' lacks its wrapper's suffix"),
        ("version: 1", "version: 2", "version: only 1 is known"),
        ("version: 1", "version: !!python/object/apply:os.getcwd []", "not YAML"),
        ("generated: {}", "generated: {toy: {}}", "toy: both downloaded and generated"),
        ("generated: {}", "generated: [toy]", "generated: a mapping was expected"),
        (
            "    drawn: in order",
            "    drawn: in order\n    aliases: {12: 11}",
            "aliases: no subset has 11 rows",
        ),
    ],
)
def test_faults_are_named(old: str, new: str, message: str) -> None:
    assert old in TOY
    with pytest.raises(RegistryError) as caught:
        parse_registry(TOY.replace(old, new))
    assert message in str(caught.value)
    assert str(caught.value).startswith("registry: ")
    assert "\n" not in str(caught.value)


def downloaded() -> list[DownloadedEntry]:
    return list(registry().downloaded.values())


def test_what_the_papers_need_is_there() -> None:
    adult, web = registry().downloaded["adult"], registry().downloaded["web"]
    assert [adult.files[name].rows for name in adult.subsets] == [
        1605, 2265, 3185, 4781, 6414, 11220, 16100, 22696, 32561,
    ]  # fmt: skip
    assert [web.files[name].rows for name in web.subsets] == [
        2477, 3470, 4912, 7366, 9888, 17188, 24692, 49749,
    ]  # fmt: skip
    assert adult.aliases == {11221: 11220, 16101: 16100, 22697: 22696, 32562: 32561}
    assert (adult.features, web.features) == (123, 300)
    assert {"adult.data", "adult.test"} <= set(adult.files)
    assert {entry.generator for entry in registry().generated.values()} == set(GENERATORS)


def test_generated_twins_of_downloaded_sets_say_so() -> None:
    assert {"twonorm-generated", "ringnorm-generated", "waveform-generated"} <= set(registry().generated)


def test_every_entry_can_be_fetched_and_read() -> None:
    for entry in downloaded():
        for file in entry.files.values():
            assert file.sources, f"{entry.name}/{file.name} has no source"
            for form in file.forms:
                assert (form.reader or entry.reader) in READERS
                assert form.sha256 or file.between, f"{entry.name}/{file.name}: nothing to judge it by"


def test_rows_rise_with_positives() -> None:
    for entry in downloaded():
        positives = [entry.files[name].positives for name in entry.subsets]
        known = [count for count in positives if count is not None]
        assert known == sorted(known)


def test_the_file_is_part_of_the_package() -> None:
    text = resources.files("svmrepro.datasets").joinpath("registry.yaml").read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)) == {"version", "hosts", "downloaded", "generated"}
