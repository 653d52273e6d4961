"""Finding, downloading, unpacking and verifying raw files.

raw_files      getting a file from the data folder, the mirror or the hosts: downloaded, unpacked, accepted;
               the next source if one fails or is wrong
http           downloading one URL, with resuming and limits
unpacking      decompressing a file, and extracting one from an archive
_lzw           the format of Unix ``compress``
_verification  checking that a file is the one described in the registry
"""
