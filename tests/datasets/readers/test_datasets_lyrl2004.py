"""RCV1 in its published form: term weights and topics in separate files."""

import gzip

import numpy as np
import pytest
from datasets_support import one_set, put, refused, sha, use_registry
from svmrepro import datasets
from svmrepro.datasets.readers._lyrl2004 import count_documents, count_topics, read_documents

# As in the real files: two blanks after the document, weights with all digits, topics by document.
TRAIN = (
    "2286  864:0.0497399253756197 1523:0.044664135988103 46694:0.0409422676712255\n"
    "2287  1:0.0673871572152868 2:0.0729250600153\n"
    "2288  47236:1\n"
)
TEST = "26151  5:0.6 7:0.8\n26152  7:0.1\n26153  1:0.5 864:.25\n"
TOPICS = (
    "E11 2286 1\nECAT 2286 1\nC11 2287 1\nCCAT 2287 1\nCCAT 2288 1\nGCAT 26151 1\nC11 26152 1\n"
    "CCAT 26152 1\nM11 26153 1\nM14 99999 1\nCCAT 99999 1\n"
)


def write(folder, **files):
    return {name: put(folder / name, text) for name, text in files.items()}


def test_documents_and_their_topics(tmp_path):
    at = write(tmp_path, train=TRAIN, test=TEST, topics=TOPICS)
    data = read_documents([at["train"], at["test"]], at["topics"], topic="CCAT", features=47236)
    assert data.X.shape == (6, 47236)
    assert data.X.has_canonical_format and data.X.indices.dtype == np.int32
    assert data.y.tolist() == [-1, 1, 1, -1, 1, -1]
    dense = data.X.toarray()
    # The number of a term is that of its column, from 1.
    assert dense[0, [863, 1522, 46693]].tolist() == [
        0.0497399253756197,
        0.044664135988103,
        0.0409422676712255,
    ]
    assert dense[2, 47235] == 1.0 and dense[5, [0, 863]].tolist() == [0.5, 0.25]
    assert data.X.nnz == 3 + 2 + 1 + 2 + 1 + 2
    other = read_documents([at["train"]], at["topics"], topic="C11", features=47236)
    assert other.y.tolist() == [-1, 1, -1]
    assert abs(data.X[:3] - other.X).nnz == 0
    assert count_documents(at["train"], 47236) == 3 and count_topics(at["topics"]) == 7


@pytest.mark.parametrize(
    ("train", "topics", "start", "words"),
    [
        ("", TOPICS, "train:1: ", "empty"),
        (TRAIN, "", "topics:1: ", "empty"),
        (TRAIN[:-8] + "47236:\n", TOPICS, "train:3: ", "'47236:' is cut short"),
        (TRAIN + "2289  0:1\n", TOPICS, "train:4: ", "document 2289 has no topic"),
        (TRAIN + "26151  47237:1\n", TOPICS, "train:4: ", "index 47237 is out of range"),
        (TRAIN + "26151  5:nan\n", TOPICS, "train:4: ", "'nan' of index 5 is not finite"),
        (TRAIN + "x  5:1\n", TOPICS, "train:4: ", "document 'x'"),
        (TRAIN + "0  5:1\n", TOPICS, "train:4: ", "0 is not a document number"),
        (TRAIN + "2286  5:1\n", TOPICS, "train: ", "document 2286 is there twice"),
        (TRAIN, TOPICS[: TOPICS.index("CCAT 2288")], "train:3: ", "document 2288 has no topic"),
        (TRAIN, TOPICS + "CCAT 22x 1\n", "topics:12: ", "'CCAT 22x 1'"),
        (TRAIN, TOPICS + "CCAT 22", "topics:12: ", "'CCAT 22'"),
        (TRAIN, TOPICS.replace("CCAT", "C15"), "topics: ", "no document has the topic CCAT"),
        (TRAIN, TOPICS + "CCAT 2286 1\n", "topics: ", "all documents have the topic CCAT"),
    ],
)
def test_what_is_refused(tmp_path, train, topics, start, words):
    at = write(tmp_path, train=train, topics=topics)
    refused(
        lambda: read_documents([at["train"]], at["topics"], topic="CCAT", features=47236),
        f"{tmp_path}/{start}",
        words,
    )


WRAPPED = gzip.compress(TRAIN.encode(), mtime=1)
ENTRY = one_set(f"""
reader: lyrl2004
features: 47236
topic: CCAT
subsets: [train, whole]
test: test
subset_seed: 5
obtain: ask Reuters
parts:
  train: {{examples: train, labels: topics, positives: 2}}
  whole: {{examples: [train, test], labels: topics, positives: 3}}
  test: {{examples: [train, test], labels: topics, skip: 3}}
files:
  train:
    rows: 3
    forms:
      - {{file: train.gz, compression: gzip, max_bytes: 999, wrapper_sha256: {sha(WRAPPED)}}}
      - {{file: train, max_bytes: 999}}
  test: {{rows: 3, max_bytes: 999}}
  topics: {{rows: 7, max_bytes: 999}}
""")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    use_registry(monkeypatch, ENTRY)
    put(tmp_path / "mirror" / "toy" / "train.gz", WRAPPED)
    write(tmp_path / "mirror" / "toy", test=TEST, topics=TOPICS)
    return tmp_path / "mirror"


def test_training_and_test_part_joined(mirror, tmp_path):
    whole = datasets.load("toy", mirror=mirror, data_dir=tmp_path)
    assert whole.y.tolist() == [-1, 1, 1, -1, 1, -1]
    train = datasets.load("toy", 3, data_dir=tmp_path, download=False)
    test = datasets.load("toy", part="test", data_dir=tmp_path, download=False)
    assert abs(whole.X[:3] - train.X).nnz == 0 and train.provenance["files"] == ["train", "topics"]
    assert abs(whole.X[3:] - test.X).nnz == 0 and test.y.tolist() == [-1, 1, -1]
    for n in (4, 5):
        data = datasets.load("toy", n, data_dir=tmp_path, download=False)
        # Beyond the training part: all of it, then part of the test part.
        assert abs(data.X[:3] - train.X).nnz == 0
        assert data.provenance["rows"].endswith(f"{n} rows of whole as permuted by seed 5 after the first 3")
        assert set(map(tuple, data.X[3:].toarray())) <= set(map(tuple, test.X.toarray()))
    assert set(datasets.load("toy", 2, data_dir=tmp_path, download=False).provenance["files"]) == {
        "train",
        "topics",
    }


def test_another_wrapper_is_judged_by_its_rows(mirror, tmp_path):
    (mirror / "toy" / "train.gz").write_bytes(gzip.compress(TRAIN.encode(), compresslevel=1, mtime=9))
    assert datasets.load("toy", 3, mirror=mirror, data_dir=tmp_path).X.shape[0] == 3
    (mirror / "toy" / "test").write_text(TEST + "26154  1:1\n")
    with pytest.raises(datasets.DatasetUnavailable, match="test: 4 rows where 3 were expected"):
        datasets.load("toy", mirror=mirror, data_dir=tmp_path)
    (mirror / "toy" / "test").write_text(TEST)
    (mirror / "toy" / "topics").write_text(TOPICS + "M14 88888 1\n")
    with pytest.raises(datasets.DatasetUnavailable, match="topics: 8 rows where 7 were expected"):
        datasets.load("toy", mirror=mirror, data_dir=tmp_path / "other")


def test_what_no_host_gives_is_told(tmp_path, mirror):
    with pytest.raises(datasets.DatasetUnavailable) as caught:
        datasets.load("toy", 3, mirror="", data_dir=tmp_path)
    for word in ("toy (train)", f"{tmp_path}/raw/toy/train.gz", "ask Reuters"):
        assert word in str(caught.value)
    with pytest.raises(datasets.DatasetUnavailable, match="; test, topics likewise; "):
        datasets.fetch("toy", tmp_path, "")


def test_a_document_without_topic_in_a_whole_set(mirror, tmp_path):
    put(mirror / "toy" / "topics", TOPICS.replace("26153", "26159"))
    refused(lambda: datasets.load("toy", mirror=mirror, data_dir=tmp_path), "", "test:3: document 26153")
