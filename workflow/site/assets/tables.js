// Makes every table sortable and filterable, by DataTables.
"use strict";
// Cells without a value come last, whichever way a column is sorted.
const missingLast = (way) => (a, b) => (a === b ? 0 : a === -Infinity ? 1 : b === -Infinity ? -1 : way * (a - b));
Object.assign(DataTable.ext.type.order, { "num-asc": missingLast(1), "num-desc": missingLast(-1) });
// The number filter compares what a cell is sorted by: its text may have an interval, a unit or a typographic minus.
const numberIn = (text) => (text == null || text === "" ? NaN : Number(String(text).replace(/<[^>]*>|,/g, "").replace("−", "-")));
const COMPARISONS = {
  equal: ["Equals", (a, b, shown) => a === b || shown === b],
  notEqual: ["Does not equal", (a, b, shown) => a !== b && shown !== b],
  greater: ["Greater than", (a, b) => a > b],
  greaterOrEqual: ["Greater or equal", (a, b) => a >= b],
  less: ["Less than", (a, b) => a < b],
  lessOrEqual: ["Less or equal", (a, b) => a <= b],
  empty: ["Empty", (a) => Number.isNaN(a)],
  notEmpty: ["Not empty", (a) => !Number.isNaN(a)],
};
DataTable.ColumnControl.content.searchNumber.init = function ({ _parents }) {
  const api = this.dt();
  const search = (logic, given, loading) => {
    const filters = given !== "" || /mpty/.test(logic);
    const [, fits] = COMPARISONS[logic];
    _parents?.forEach((each) => each.activeList(`${this.unique()}number`, filters));
    const column = api.column(this.idx());
    column.search.fixed("dtcc", filters ? (shown, _, row) => fits(numberIn(api.cell(row, this.idx()).render("sort")), numberIn(given), numberIn(shown)) : "");
    if (!loading) column.draw();
  };
  return new DataTable.ColumnControl.SearchInput(api, this.idx(), this.idxOriginal()).type("num").addClass("dtcc-searchNumber")
    .options(Object.entries(COMPARISONS).map(([value, [label]]) => ({ value, label }))).search(search).element();
};
const VALUES = { extend: "dropdown", text: "Choose values", content: ["searchList"] };
const tableOptions = (table) => {
  // Of a header of two rows, the lower one has the columns.
  const target = Math.max(0, (table.tHead?.rows.length ?? 1) - 1);
  const control = (content) => [{ target, content }];
  const place = [...document.querySelectorAll("table.data, table.records")].indexOf(table);
  const { search, columnControl } = fromAddress(place);
  // A table that is seen at a glance needs no filter, except to clear one that the address gives.
  const few = (table.tBodies[0]?.rows.length ?? 99) < 8 && !search && !Object.keys(columnControl).length;
  const many = table.tBodies[0] ? table.tBodies[0].rows.length > 150 : true;
  return {
    paging: many,
    pageLength: 50,
    lengthChange: false,
    order: [],
    autoWidth: false,
    titleRow: false,
    stateSave: true,
    stateLoadCallback: () => fromAddress(place),
    stateSaveCallback: (_, state) => toAddress(place, state),
    layout: { topStart: few ? null : "search", topEnd: few ? null : "info", bottomStart: many ? "paging" : null, bottomEnd: null },
    language: { search: "", searchPlaceholder: "Filter the rows", info: "_TOTAL_ rows", infoFiltered: "of _MAX_", infoEmpty: "no row", emptyTable: "no rows", zeroRecords: "no row fits" },
    columnDefs: [
      { targets: "list", columnControl: control(few ? [] : [VALUES]) },
      { targets: "_all", columnControl: control(few ? [] : ["searchDropdown"]) },
    ],
    initComplete() {
      const box = this.api().table().container();
      box.querySelector("input[type=search]")?.setAttribute("aria-label", `Filter: ${table.getAttribute("aria-label")}`);
      box.querySelector("nav")?.setAttribute("aria-label", `Pages: ${table.getAttribute("aria-label")}`);
      // What filters a column says which; of a header of two rows, the upper one has the groups.
      const [upper] = target ? [...table.tHead.rows] : [];
      const groups = upper ? [...upper.cells].flatMap((cell) => Array(cell.colSpan).fill(cell.textContent.trim())) : [];
      this.api().columns().every((place) => {
        const header = this.api().column(place).header();
        const name = [groups[place], header.querySelector(".dt-column-title")?.textContent.trim()].filter(Boolean).join(", ");
        for (const button of header.querySelectorAll("button")) button.setAttribute("aria-label", `Filter: ${name}`);
      });
      const scroll = document.createElement("div");
      scroll.className = "scroll";
      scroll.tabIndex = 0;
      scroll.setAttribute("role", "region");
      scroll.setAttribute("aria-label", `${table.getAttribute("aria-label")}, scrollable`);
      table.replaceWith(scroll);
      scroll.append(table);
    },
  };
};
// What filters and orders a table stands in the address, so that a copied link shows the same rows:
// filter=WORDS, order=COLUMN,WAY, column3=TYPE:LOGIC:VALUE and values3=VALUE, with -1 after the name for the second table.
const fromAddress = (place) => {
  const columnControl = {};
  const state = { time: Date.now(), columnControl };
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    const [, name, column, table] = key.match(/^(filter|order|column|values)(\d*)(?:-(\d+))?$/) ?? [];
    if (!name || Number(table ?? 0) !== place || (name === "column" || name === "values") !== (column !== "")) continue;
    const [, at, way] = value.match(/^(\d+),(asc|desc)$/) ?? [];
    const [, type, logic, given] = value.match(/^(\w+):(\w+):(.*)$/s) ?? [];
    if (name === "filter") state.search = { search: value };
    else if (name === "order" && way) state.order = [[Number(at), way]];
    else if (name === "column" && type) columnControl[column] = { searchInput: { type, logic, value: given } };
    else if (name === "values") (columnControl[column] ??= { searchList: [] }).searchList?.push(value);
  }
  return state;
};
const toAddress = (place, state) => {
  // A plain anchor gives way to a filter, and stays where there is none.
  const before = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const suffix = place ? `-${place}` : "";
  const own = new RegExp(`^(filter|order|(column|values)\\d+)${suffix}$`);
  const now = new URLSearchParams([...before].filter(([key]) => !own.test(key)));
  const add = (name, value) => now.append(name + suffix, value);
  if (state.search.search) add("filter", state.search.search);
  if (state.order[0]?.[1]) add("order", state.order[0].join());
  for (const [column, { searchInput, searchList }] of Object.entries(state.columnControl ?? {})) {
    if (searchInput && (searchInput.value || /mpty/.test(searchInput.logic))) add(`column${column}`, `${searchInput.type}:${searchInput.logic}:${searchInput.value}`);
    for (const value of searchList ?? []) add(`values${column}`, value);
  }
  if (now.size || location.hash.includes("=")) history.replaceState(null, "", `${location.pathname}${location.search}${now.size ? `#${now}` : ""}`);
};
// An address with other filters on the same page, typed or clicked.
addEventListener("hashchange", ({ newURL }) => {
  if (/#.*=/.test(newURL)) location.reload();
});
// A table that is filled by a script gets its header first.
const headTable = (table, headers) => {
  const row = table.createTHead().insertRow();
  for (const header of headers) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = header;
    row.append(cell);
  }
};
// On paper there are no pages to turn: all rows are printed.
let paged = [];
addEventListener("beforeprint", () => {
  const tables = DataTable.tables().map((table) => new DataTable.Api(table)).filter((table) => table.page.info().pages > 1);
  paged = tables.map((table) => [table, table.page.len()]);
  for (const table of tables) table.page.len(-1).draw();
});
addEventListener("afterprint", () => { for (const [table, rows] of paged) table.page.len(rows).draw(); });
for (const table of document.querySelectorAll("table.data:not(.records)")) new DataTable(table, tableOptions(table));
