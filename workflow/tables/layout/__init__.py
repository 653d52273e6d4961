"""Tables as such, and what several kinds of tables share.

cells      cells, and the digits of every number, exponents too
model      tables and columns
size_rows  cells of a row of one experiment at one size: n, seconds, ratios
exponents  columns and sections of fitted exponents
writers    output formats; HTML by ``workflow/templates``
"""
