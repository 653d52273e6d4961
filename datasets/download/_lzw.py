"""The format of Unix ``compress`` (``.Z``): LZW with codes of 9 to at most 16 bits.

The standard library cannot read it, and UCI ships one data set in this format only. Codes are packed in
groups of eight, lowest bit first. Where the code width changes or the table is cleared, the rest of the group
is padding: a quirk of the first implementation that all others keep.
"""

from __future__ import annotations

from typing import Final

MAGIC: Final = b"\x1f\x9d"
_CLEAR: Final = 256
_NARROWEST: Final = 9


def decompress_lzw(content: bytes, limit: int) -> bytes:
    """Decompress the content of a ``.Z`` file; an invalid or damaged one raises a ValueError.

    Decompression stops soon after ``limit`` bytes of output; a longer result is truncated there, at more than
    ``limit`` bytes. A truncated file goes unnoticed and gives a shorter result, because the format has
    neither checksum nor length.
    """
    if len(content) < 3 or not content.startswith(MAGIC):
        raise ValueError("it does not begin as files of compress do")
    widest, clears = content[2] & 0x1F, bool(content[2] & 0x80)
    # With a maximum of 9 bits, old implementations widen the codes nevertheless, each in its own way.
    if not _NARROWEST < widest <= 16:
        raise ValueError(f"codes of up to {widest} bits")
    first = _CLEAR + 1 if clears else _CLEAR
    table = [bytes([byte]) for byte in range(256)] + [b""] * (first - 256)
    out = bytearray()
    width, position, previous = _NARROWEST, 3, b""
    while position < len(content) and len(out) <= limit:
        group = content[position : position + width]
        position += width
        bits = int.from_bytes(group, "little")
        for shift in range(0, 8 * len(group) - width + 1, width):
            code = (bits >> shift) & ((1 << width) - 1)
            if clears and code == _CLEAR:
                del table[first:]
                width, previous = _NARROWEST, b""
                break
            if code < len(table):
                entry = table[code]
            elif code == len(table) and previous:
                entry = previous + previous[:1]
            else:
                raise ValueError(f"code {code} where the table has {len(table)} entries")
            out += entry
            if previous and len(table) < 1 << widest:
                table.append(previous + entry[:1])
            previous = entry
            if len(table) >= 1 << width and width < widest:
                width += 1
                break
    return bytes(out)
