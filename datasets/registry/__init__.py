"""The data sets that are known by name.

model  the keys of ``registry.yaml``, and an entry as a record
parse  reading the file, and what types cannot check
"""
