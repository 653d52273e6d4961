"""The data sets that are known by name.

model  the keys of ``registry.yaml`` and the entries, as typed records
parse  reading the file, and the checks that types cannot express
"""
