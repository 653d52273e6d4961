"""The files of a run's results: what their columns mean, and which contents are valid.

measurement_columns  what is recorded of a run: meaning, unit and type of each column
field_types          valid contents of the fields of a file
result_rows          the rows of a result file
parquet              a paper's results as Parquet, with typed columns
sources              the measurements that tables and figures were made of
"""
