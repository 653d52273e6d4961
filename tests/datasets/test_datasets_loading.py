"""Data sets by name: sizes, prefixes, a user's own files, prepared arrays, keys."""

import resource
import signal

import numpy as np
import pytest
from datasets_support import libsvm_text, make_entry, put, refused, sha, toy_file
from scipy import sparse
from svmrepro import datasets
from svmrepro.datasets import DataError, DatasetUnavailable, loading
from svmrepro.datasets.readers import by_name
from svmrepro.datasets.registry import Registry

FILES = {"small": libsvm_text(20), "large": libsvm_text(50), "toy.t": libsvm_text(8, skip=100)}


@pytest.fixture
def toy_registry(server, monkeypatch):
    """Make ``toy`` the registry's set: files of 20 and 50 rows and a test set of 8, all on the server."""
    server.answers.update({f"/{name}": content for name, content in FILES.items()})
    text = [
        toy_file(content, f"{server.url}/{name}", name=name, positives=content.count(b"+1"))
        for name, content in FILES.items()
    ]
    entry = make_entry("\n".join(text), subsets="[small, large]\n    test: toy.t\n    aliases: {21: 20}")
    generated = loading.registry().generated
    monkeypatch.setattr(loading, "registry", lambda: Registry({"toy": entry}, generated))
    monkeypatch.setattr(loading, "_user_files", {})
    return server


def rows_of(data):
    assert sparse.issparse(data.X)
    return data.X.toarray().tolist()


def test_sizes_and_their_files(toy_registry, tmp_path):
    whole = datasets.load("toy", data_dir=tmp_path)
    assert whole.X.shape == (50, 13)
    assert np.all(whole.X.data == 1.0) and whole.X.has_canonical_format
    for n, actual, file in ((20, 20, "small"), (21, 20, "small"), (7, 7, "small"), (22, 22, "large")):
        data = datasets.load("toy", n=n, data_dir=tmp_path)
        assert rows_of(data) == rows_of(whole)[:actual]
        assert data.y.tolist() == whole.y.tolist()[:actual]
        assert data.provenance["files"] == [file]
        assert data.provenance["sha256"] == sha(FILES[file])
        assert (data.provenance["n_requested"], data.provenance["n_actual"]) == (n, actual)
        assert datasets.resolve_size("toy", n) == actual
    assert sorted(toy_registry.paths()) == ["/large", "/small"]


def test_the_test_part(toy_registry, tmp_path):
    assert datasets.load("toy", part="test", data_dir=tmp_path).X.shape == (8, 13)
    assert datasets.load("toy", 3, part="test", data_dir=tmp_path).X.shape == (3, 13)
    for n in (9, 1.5):
        refused(
            lambda n=n: datasets.load("toy", n, part="test", data_dir=tmp_path),
            f"toy: n = {n}: the test set has 8 rows",
        )


@pytest.mark.parametrize(
    ("n", "words"),
    [(51, "50 rows"), (0, "positive integer"), (2.0, "positive integer"), (1, "one class only")],
)
def test_sizes_that_cannot_be(toy_registry, tmp_path, n, words):
    refused(lambda: datasets.load("toy", n, data_dir=tmp_path), f"toy: n = {n}: ", words)


def test_only_a_users_rows_can_be_put_into_another_order(toy_registry, tmp_path):
    datasets.register_file("mine", put(tmp_path / "mine", FILES["small"]))
    for name in ("toy", "mine"):
        with pytest.raises(DataError, match="one class only") as caught:
            datasets.load(name, 1, data_dir=tmp_path)
        assert ("random order" in str(caught.value)) == (name == "mine")


def test_names(toy_registry, tmp_path):
    assert datasets.names()[:2] == ("toy", "separable")
    assert datasets.is_generated("noise") and not datasets.is_generated("toy")
    assert datasets.describe("twonorm-generated").name == "twonorm-generated"
    with pytest.raises(DataError, match="unknown data set 'chessboard'; did you mean 'chess-board'"):
        datasets.load("chessboard", 10)
    with pytest.raises(DataError, match=r"unknown data set '\.\.\.\.'; known: .*separable"):
        datasets.describe("....")
    for name in ("toy", "noise", ""):
        with pytest.raises(DataError, match=f"data set '{name}': the name is"):
            datasets.register_file(name, tmp_path / "file")


def test_generated_sets_by_name(toy_registry):
    data = datasets.load("twonorm-generated", 30, seed=4)
    assert data.name == "twonorm-generated"
    assert np.array_equal(data.X, datasets.generate("twonorm", 30, seed=4).X)
    assert datasets.fetch("noise").files == {}
    with pytest.raises(DataError, match="noise: a generated set needs a number of rows"):
        datasets.load("noise")
    with pytest.raises(DataError, match="noise: a generated set has no test part"):
        datasets.load("noise", 10, part="test")


def test_fetch_tells_what_is_missing(toy_registry, tmp_path, network):
    del toy_registry.answers["/large"]
    fetched = datasets.fetch("toy", tmp_path, network=network)
    assert sorted(fetched.files) == ["small", "toy.t"]
    assert fetched.files["small"].read_bytes() == FILES["small"]
    assert list(fetched.missing) == ["large"]
    assert "HTTP 404" in fetched.missing["large"][0]
    assert datasets.load("toy", 20, data_dir=tmp_path, download=False).X.shape[0] == 20
    with pytest.raises(DatasetUnavailable, match=r"toy \(large\) is not available: it has not been fetched"):
        datasets.load("toy", 22, data_dir=tmp_path, download=False)


def test_fetch_of_what_is_gone(toy_registry, tmp_path, network):
    toy_registry.answers.clear()
    with pytest.raises(DatasetUnavailable) as caught:
        datasets.fetch("toy", tmp_path, network=network)
    for word in (
        "toy",
        f"{toy_registry.url}/small: HTTP 404",
        "large, toy.t likewise",
        f"{tmp_path}/raw/toy/",
    ):
        assert word in str(caught.value)


def test_prepared_arrays_are_used_and_checked(toy_registry, tmp_path, monkeypatch):
    first = datasets.load("toy", data_dir=tmp_path)
    [kept] = (tmp_path / "prepared").glob("*.npz")
    parsed = []
    reader = by_name.READERS["libsvm"]

    def counting(path, entry):
        parsed.append(path)
        return reader(path, entry)

    monkeypatch.setitem(by_name.READERS, "libsvm", counting)
    again = datasets.load("toy", data_dir=tmp_path)
    assert parsed == []
    assert rows_of(again) == rows_of(first) and again.y.tolist() == first.y.tolist()
    assert again.X.has_canonical_format

    good = kept.read_bytes()
    for spoilt in (b"", b"no archive", good[:300], good[:-200], good.replace(b"indices", b"indexes")):
        kept.write_bytes(spoilt)
        parsed.clear()
        assert rows_of(datasets.load("toy", data_dir=tmp_path)) == rows_of(first)
        assert len(parsed) == 1
        assert kept.read_bytes() == good, "what was spoilt has been made again"

    with np.load(kept) as stored:
        arrays = dict(stored)
    for name, other in (
        ("y", arrays["y"][0]),  # no array of labels
        ("data", np.full_like(arrays["data"], np.nan)),
        ("indices", arrays["indices"] + 10**6),  # compiled code would read what is not there
        ("indptr", arrays["indptr"][::-1].copy()),
    ):
        np.savez(kept, **{**arrays, name: other})
        parsed.clear()
        assert rows_of(datasets.load("toy", data_dir=tmp_path)) == rows_of(first)
        assert len(parsed) == 1, (name, other)


def test_a_disk_too_full_for_prepared_arrays(toy_registry, tmp_path):
    datasets.fetch("toy", tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        data = datasets.load("toy", data_dir=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert data.X.shape == (50, 13)
    assert [path.name for path in (tmp_path / "prepared").iterdir()] == [".lock"]


def test_a_file_with_the_right_checksum_and_wrong_counts(toy_registry, tmp_path, monkeypatch):
    text = toy_file(FILES["small"], f"{toy_registry.url}/small", rows=21, positives=10)
    monkeypatch.setattr(loading, "registry", lambda: Registry({"toy": make_entry(text)}, {}))
    with pytest.raises(DataError, match=r"20 rows, 10 of them positive, where the registry has 21 and 10"):
        datasets.load("toy", data_dir=tmp_path)


def test_values_of_a_set_that_is_called_binary(tmp_path, monkeypatch):
    def load(value):
        content = b"".join(b"%+d 1:1 3:%d\n" % (label, value) for label in (1, -1))
        put(tmp_path / "mirror" / "toy" / "toy", content)
        entry = make_entry(toy_file(content, "http://localhost:1/toy"))
        monkeypatch.setattr(loading, "registry", lambda: Registry({"toy": entry}, {}))
        return datasets.load("toy", data_dir=tmp_path / f"data-{value}", mirror=tmp_path / "mirror")

    assert load(1).X.data.tolist() == [1.0] * 4
    with pytest.raises(DataError, match="values other than 1, where the registry says that toy is binary"):
        load(2)


def test_a_file_of_ones_own(toy_registry, tmp_path):
    path = tmp_path / "mine.libsvm"
    path.write_text("2 1:0.5 3:1\n4 2:1\n2 1:1\n4 5:2\n")
    datasets.register_file("my data", path, labels={2: -1, 4: 1})
    assert "my data" in datasets.names()
    assert not datasets.is_generated("my data")
    data = datasets.load("my data", 3)
    assert data.name == "my data"
    assert rows_of(data) == [[0.5, 0, 1, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]
    assert data.y.tolist() == [-1, 1, -1]
    assert data.provenance["sha256"] == sha(path.read_bytes())
    assert data.provenance["files"] == ["mine.libsvm"]
    whole = datasets.load("my data")
    assert whole.X.shape == (4, 5)
    whole.X.data *= 10
    whole.y[:] = 0
    assert rows_of(datasets.load("my data", 3)) == rows_of(data), "arrays that a caller changes are its own"
    assert datasets.load("my data").y.tolist() == [-1, 1, -1, 1]
    assert datasets.resolve_size("my data") == 4
    assert list(datasets.fetch("my data").files.values()) == [path]
    with pytest.raises(DataError, match=r"my data: n = 5: \S+mine\.libsvm has 4 rows"):
        datasets.load("my data", 5)
    with pytest.raises(DataError, match="my data: a user's file has no test part"):
        datasets.load("my data", part="test")

    path.write_text("4 1:1\n2 2:1\n")
    assert datasets.load("my data").y.tolist() == [1, -1], "a changed file is read again"


def test_a_table_of_ones_own_with_a_test_file(toy_registry, tmp_path):
    path, tested = put(tmp_path / "mine.csv", "x,sick,y\n1,no,2\n3,yes,4\n"), tmp_path / "test" / "mine.csv"
    tested.parent.mkdir()
    settings = {"labels": {"no": -1, "yes": 1}, "label": "sick", "test": tested}
    datasets.register_file("mine", path, **settings)
    put(tested, "x,sick,y\n5,yes,6\n7,no,8\n9,yes,9\n")
    assert datasets.load("mine").X.tolist() == [[1, 2], [3, 4]]
    found = datasets.load("mine", 2, part="test")
    assert found.X.tolist() == [[5, 6], [7, 8]] and found.y.tolist() == [1, -1]
    assert found.provenance["files"] == ["mine.csv"]
    assert datasets.fetch("mine").files == {"train": path, "test": tested}
    refused(lambda: datasets.load("mine", 4, part="test"), f"mine: n = 4: {tested} has 3 rows")
    keys = {datasets.content_key("mine", 2), datasets.content_key("mine", 2, part="test")}
    put(tested, "x,sick,y\n5,yes,6\n7,no,8.5\n")
    keys |= {datasets.content_key("mine", 2), datasets.content_key("mine", 2, part="test")}
    datasets.register_file("mine", path, **settings | {"labels": {"no": 1, "yes": -1}})
    assert len({*keys, datasets.content_key("mine", 2)}) == 4
    put(tested, "x,y\n5,yes\n7,no\n")
    refused(lambda: datasets.load("mine", part="test"), f"{tested}:1: ", "no column 'sick'")


def test_the_test_file_has_the_columns_of_the_training_file(toy_registry, tmp_path):
    path, tested = put(tmp_path / "mine", "0 3:1\n1 1:1\n"), put(tmp_path / "test", "1 1:1\n0 2:1\n")
    datasets.register_file("mine", path, labels={0: -1, 1: 1}, test=tested)
    assert datasets.load("mine", part="test").X.shape == (2, 3)
    key = datasets.content_key("mine", part="test")
    put(path, "0 5:1\n1 1:1\n")
    assert datasets.content_key("mine", part="test") != key
    put(path, "0 3:1\n1 1:1\n")
    assert datasets.content_key("mine", part="test") == key
    put(tested, "1 1:1\n0 4:1\n")
    refused(lambda: datasets.load("mine", part="test"), f"{tested}:2: ", "4")
    refused(lambda: datasets.register_file("mine", path, labels={0: 1, 1: 1}), "labels: ")
    refused(lambda: datasets.register_file("mine", path, labels={"a": 1, "b": -1}), "labels: 'a' is a text")
    by_text = {"labels": {"a": 1, "b": -1}, "test": tested}
    refused(lambda: datasets.register_file("mine", tmp_path / "a.csv", **by_text), "labels: 'a' is a text")
    refused(lambda: datasets.register_file("mine", path, format="xls"), "format: must be one of libsvm")


def test_the_columns_of_a_test_table_are_in_the_same_order(toy_registry, tmp_path):
    path, tested = put(tmp_path / "a.csv", "u,v,y\n1,2,-1\n3,4,1\n"), tmp_path / "t.csv"
    for label in ("last", "y"):
        datasets.register_file("mine", path, test=tested, label=label)
        for names in ("u,v", "V,U", "5,6"):  # a table without a header has no names
            put(tested, f"{names},{1 if names == '5,6' and label == 'last' else 'y'}\n7,8,1\n5,6,-1\n")
            assert datasets.load("mine", part="test").X.tolist()[-2:] == [[7, 8], [5, 6]]
        for names, moved in (("v,u,y", "u"), ("w,u,y", "u"), ("v,w,y", "v"), ("y,v,u", "u")):
            put(tested, f"{names}\n1,8,1\n-1,6,-1\n")
            said = f"{tested}:1: column '{moved}' is in another place in {path}"
            refused(lambda: datasets.load("mine", part="test"), said)
    put(tested, "y,u,v\n1,8,1\n-1,6,-1\n")
    assert datasets.load("mine", part="test").X.tolist() == [[8, 1], [6, -1]], "a label is found by its name"
    datasets.register_file("mine", path, test=tested)
    refused(lambda: datasets.load("mine", part="test"), f"{tested}:1: column 'u' is in another place")
    datasets.register_file("mine", path, test=tested, label="y")
    put(tested, "u,v,y\n7,8,1\n5,6,0\n")
    said = "label '0' where -1 or 1 was expected; the key 'labels' maps others, such as {0: -1, 1: 1}; "
    refused(
        lambda: datasets.load("mine", part="test"), f"{tested}:3: {said}the key 'label' names another col"
    )


def test_the_suffix_of_the_test_file_tells_its_format(toy_registry, tmp_path):
    path, tested = put(tmp_path / "mine.libsvm", "0 2:1\n1 1:1\n"), put(tmp_path / "t.csv", "1,2,1\n0,4,0\n")
    keys = set()
    for label in ("last", "first"):
        datasets.register_file("mine", path, labels={0: -1, 1: 1}, test=tested, label=label)
        keys.add(datasets.content_key("mine", part="test"))
    assert len(keys) == 2
    datasets.register_file("mine", path, labels={0: -1, 1: 1}, test=tested)
    assert datasets.load("mine", part="test").X.tolist() == [[1, 2], [0, 4]]
    datasets.register_file("mine", path, labels={0: -1, 1: 1}, test=tested, format="libsvm")
    refused(lambda: datasets.load("mine", part="test"), f"{tested}:1: ")


def test_a_file_of_ones_own_that_is_bad_or_not_there(toy_registry, tmp_path):
    path = tmp_path / "mine"
    datasets.register_file("mine", path)
    for use in (datasets.load, datasets.fetch, datasets.resolve_size, datasets.content_key):
        refused(lambda use=use: use("mine"), f"{path}: ", "No such file")
    put(path, "+1 1:1\n-1 2:a\n")
    refused(lambda: datasets.load("mine"), f"{path}:2: ", "'a' of index 2")


def test_keys_need_no_data_and_change_with_it(toy_registry, tmp_path):
    path = tmp_path / "mine"
    path.write_bytes(FILES["small"])
    datasets.register_file("mine", path)
    requests = [("toy", 20), ("toy", 19), ("toy", 22), ("toy",), ("mine", 20)]
    requests += [("noise", 20), ("noise", 20, 1), ("noise", 21), ("separable", 20)]
    keys = [datasets.content_key(*request) for request in requests]
    assert toy_registry.seen == []
    assert len(set(keys)) == len(keys)
    assert datasets.content_key("toy", 21) == keys[0], "a paper's size is that of its file"
    texts = set()
    for sign in (-1, 1):
        entry = datasets.register_file("mine", path, labels={1234567: sign, 1234568: -sign})
        texts.add(entry.rules)
    assert len(texts) == 2
    datasets.register_file("mine", path)
    path.write_bytes(FILES["large"])
    assert datasets.content_key("mine", 20) not in keys
