"""Tables as such.

cells    cells, and how numbers are formatted
model    tables and columns
writers  output formats; HTML by ``workflow/templates``
"""
