"""Comparison of two runs.

compared_run  what a results folder, or a reference, contains of a run
paired_runs   rows of both runs, as ratios with intervals, and rows of only one
tables        the tables
figure        the figure
"""
