// Makes every table sortable and filterable, by DataTables.
"use strict";
// Cells without a value come last, whichever way a column is sorted.
const missingLast = (way) => (a, b) => (a === b ? 0 : a === -Infinity ? 1 : b === -Infinity ? -1 : way * (a - b));
Object.assign(DataTable.ext.type.order, { "num-asc": missingLast(1), "num-desc": missingLast(-1) });
const VALUES = { extend: "dropdown", text: "Choose values", content: ["searchList"] };
const tableOptions = (table) => {
  // Of a header of two rows, the lower one has the columns.
  const target = Math.max(0, (table.tHead?.rows.length ?? 1) - 1);
  const control = (content) => [{ target, content }];
  // A table that is seen at a glance needs no filter.
  const few = (table.tBodies[0]?.rows.length ?? 99) < 8;
  const many = table.tBodies[0] ? table.tBodies[0].rows.length > 150 : true;
  return {
    paging: many,
    pageLength: 50,
    lengthChange: false,
    order: [],
    autoWidth: false,
    titleRow: false,
    layout: { topStart: few ? null : "search", topEnd: few ? null : "info", bottomStart: many ? "paging" : null, bottomEnd: null },
    language: { search: "", searchPlaceholder: "Filter the rows", info: "_TOTAL_ rows", infoFiltered: "of _MAX_", infoEmpty: "no row", emptyTable: "no rows", zeroRecords: "no row fits" },
    columnDefs: [
      { targets: "list", columnControl: control(few ? [] : [VALUES]) },
      { targets: "_all", columnControl: control(few ? [] : ["searchDropdown"]) },
    ],
    initComplete() {
      const box = this.api().table().container();
      box.querySelector("input[type=search]")?.setAttribute("aria-label", `Filter: ${table.getAttribute("aria-label")}`);
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
      keepInAddress(this.api(), [...document.querySelectorAll("table.data, table.records")].indexOf(table));
    },
  };
};
// The search and the order of a table stand in the address, so that a copied link shows the same rows.
const keepInAddress = (api, place) => {
  const [filter, order] = ["filter", "order"].map((name) => (place ? `${name}-${place}` : name));
  const given = new URLSearchParams(location.hash.slice(1));
  const [, column, way] = given.get(order)?.match(/^(\d+),(asc|desc)$/) ?? [];
  if (given.get(filter)) api.search(given.get(filter));
  if (way && api.column(column).any()) api.order([Number(column), way]);
  if (given.get(filter) || way) api.draw();
  api.on("draw", () => {
    // A plain anchor gives way to a filter, and stays where there is none.
    const now = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    const [ordered] = api.order();
    for (const [name, value] of [[filter, api.search()], [order, ordered?.[1] ? `${ordered[0]},${ordered[1]}` : ""]]) value ? now.set(name, value) : now.delete(name);
    if (now.size || location.hash.includes("=")) history.replaceState(null, "", `${location.pathname}${location.search}${now.size ? `#${now}` : ""}`);
  });
};
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
for (const table of document.querySelectorAll("table.data:not(.records)")) new DataTable(table, tableOptions(table));
