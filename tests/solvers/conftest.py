"""Pytest puts this folder on the path: the folders below share `solver_cases`."""
