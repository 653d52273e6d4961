"""Comparison of two runs.

compared_run  what a results folder, or a reference, contains of a run
paired_runs   what both runs measured, as ratios with intervals
tables        the tables
figure        the figure
"""
