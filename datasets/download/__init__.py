"""Raw files: found, downloaded, unpacked, verified.

search   the order of places: folder, mirror, hosts
http     one URL into one file, resumed and bounded
archive  taking a file out of its archive
lzw      the format of Unix ``compress``
verify   whether a file is the one that the registry means
"""
