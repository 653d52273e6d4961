"""The data sets that are known by name.

model  an entry, as plain records
parse  reading ``registry.yaml``
"""
