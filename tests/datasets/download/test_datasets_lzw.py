"""Files of compress (.Z): files from the test's own encoder, read by our decoder and by gzip."""

import shutil
import subprocess

import numpy as np
import pytest
from datasets_support import compress_lzw
from svmrepro.datasets.download._lzw import decompress_lzw

RNG = np.random.default_rng(1)
CONTENTS = {
    "nothing": b"",
    "one byte": b"a",
    "the same byte": b"a" * 5000,
    "text": b"".join(b"%d squares of %d\n" % (i * i, i) for i in range(2000)),
    "any bytes": RNG.bytes(10_000),
    "few symbols": bytes(RNG.choice(list(b"xob,\n"), 30_000).tolist()),
}


@pytest.mark.parametrize("clears", [True, False])
@pytest.mark.parametrize("widest", [10, 13, 16])
@pytest.mark.parametrize("name", CONTENTS)
def test_what_was_written_is_read_back(name, widest, clears):
    content = CONTENTS[name]
    packed = compress_lzw(content, widest, clears=clears)
    assert decompress_lzw(packed, len(content)) == content
    if shutil.which("gzip") and content:  # it knows the format too
        done = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True)
        assert done.stdout == content


def test_a_longer_result_is_cut_soon_after_the_limit():
    packed = compress_lzw(b"a" * 1_000_000)
    assert 1000 < len(decompress_lzw(packed, 1000)) < 10_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it does not begin"),
        (b"\x1f\x8b\x90abc", "it does not begin"),
        (b"\x1f\x9d\x89abc", "codes of up to 9 bits"),
        (b"\x1f\x9d\x91abc", "codes of up to 17 bits"),
        (b"\x1f\x9d\x90\xff\xff\xff", "code 511 where the table has 257 entries"),
        (b"\x1f\x9d\x90\x01\x01\x00", "code 257 where the table has 257 entries"),
    ],
)
def test_what_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        decompress_lzw(content, 100)
