"""Data sets: registry, download, readers, generators, nested subsets."""
