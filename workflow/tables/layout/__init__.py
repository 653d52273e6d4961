"""Tables as such: cells, columns and sections, which are exported, and their output.

cells    cells, and how numbers are formatted
model    tables and columns
writers  output formats; HTML by ``workflow/templates``
"""

from svmrepro.workflow.tables.layout.cells import (
    BLANK,
    DASH,
    Cell,
    count,
    estimate,
    exponent,
    missing,
    number,
    percent,
    printed,
    prose,
)
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, beside_paper, table_of

__all__ = [
    "BLANK",
    "DASH",
    "Cell",
    "Column",
    "Table",
    "TableSection",
    "beside_paper",
    "count",
    "estimate",
    "exponent",
    "missing",
    "number",
    "percent",
    "printed",
    "prose",
    "table_of",
]
