"""Finding, downloading, unpacking and verifying raw files.

search     searching the data folder, the mirror and the hosts for a file
http       downloading one URL, with resuming and limits
unpacking  decompressing a file, and extracting one from an archive
_lzw       the format of Unix ``compress``
_verify    checking that a file is the one described in the registry
"""
