"""Raw files: found, downloaded, unpacked, verified.

search   the order of places: folder, mirror, hosts
http     one URL into one file, resumed and bounded
unpack   decompressing, and taking a file out of an archive
lzw      the format of Unix ``compress``
verify   whether a file is the one that the registry means
"""
