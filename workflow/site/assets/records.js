// The measurements of an experiment: plot, table, and the line of JSON behind each.
"use strict";
(() => {
  const { columns, rows, lines, names, looks, axis: axisLabel } = window.svmreproRecords;
  const laws = JSON.parse(document.getElementById("laws").textContent);
  const at = Object.fromEntries(columns.map(({ key }, place) => [key, place]));
  const FIRST = at.flagged + 1;
  const LINE = columns.length;
  const steady = new Set(["noise.steal", "noise.frequency_mhz"].map((key) => at[key]));
  const used = columns.map((_, place) => place === at.contender || (place === at.reason ? rows.some((row) => row[place]) : new Set(rows.map((row) => row[place])).size > 1) || (place >= FIRST && !steady.has(place) && rows.some((row) => row[place] != null)));
  const nameOf = (contender) => names?.[contender] ?? contender;
  const shortPlace = (place) => place.match(/row [\d,]+$/)?.[0] ?? `line ${place.match(/\d+$/)?.[0] ?? ""}`;
  used[at.status] = rows.some((row) => row[at.status] !== "optimal");
  const contenders = [...new Set(rows.map((row) => row[at.contender]))];
  const colourOf = (contender) => looks[contender]?.[0] ?? "#475569";
  const markOf = (contender) => SYMBOLS[looks[contender]?.[1]] ?? "circle";
  // Objectives of two solvers agree in their first digits.
  const tick = (value, key) => said(value, key === "certificate.dual" ? 9 : 5);

  const dialog = document.getElementById("line");
  const show = (number) => {
    const [place, text] = lines[number];
    document.getElementById("place").textContent = place;
    dialog.querySelector("pre").textContent = JSON.stringify(JSON.parse(text), null, 2);
    dialog.dataset.text = text;
    dialog.showModal();
  };
  document.getElementById("copy").addEventListener("click", async ({ target }) => {
    const text = "Copy the line";
    try {
      await navigator.clipboard.writeText(dialog.dataset.text);
      target.textContent = "Copied";
    } catch { // not allowed: the line is selected instead
      getSelection().selectAllChildren(dialog.querySelector("pre"));
      target.textContent = "Selected";
    }
    setTimeout(() => { target.textContent = text; }, 2000);
  });

  const select = document.getElementById("quantity");
  const quantities = columns.filter((_, place) => place >= FIRST && used[place]);
  select.replaceChildren(...quantities.map(({ key, header }) => new Option(header, key)));

  const shown = { n: null, contender: null };
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in shown) shown[key] = value.split(",");
  const fits = (row) => (!shown.n || shown.n.includes(String(row[at.n]))) && (!shown.contender || shown.contender.includes(row[at.contender]));

  const axis = used[at.point] ? "point" : used[at.n] ? "n" : "contender";
  const draw = () => {
    if (!quantities.length) return;
    const key = select.value;
    const y = at[key];
    const values = rows.map((row) => row[y]).filter((value) => value != null);
    const log = values.every((value) => value > 0) && Math.max(...values) / Math.min(...values) > 20;
    const places = [...new Set(rows.map((row) => row[at[axis]]))].filter((value) => value > 0);
    const drawn = rows.filter((row) => row[y] != null && row[at[axis]] != null);
    const traces = contenders.map((contender) => {
      const own = drawn.filter((row) => row[at.contender] === contender);
      const colour = shade(colourOf(contender));
      return { name: nameOf(contender), type: "scatter", mode: "markers", x: own.map((row) => (axis === "contender" ? nameOf(contender) : row[at[axis]])), y: own.map((row) => row[y]),
        customdata: own.map((row) => row[LINE]), text: own.map((row) => [`n = ${tick(row[at.n])}`, row[at.point] != null && `${columns[at.point].header} ${said(row[at.point])}`, row[at.seed] != null && `seed ${row[at.seed]}`, row[at.repeat] != null && `repeat ${row[at.repeat]}`, row[at.flagged] && `flagged: ${row[at.flagged]}`, row[at.status] !== "optimal" && row[at.status].replace("_", " ")].filter(Boolean).join(", ")),
        marker: { symbol: own.map((row) => markOf(contender) + (row[at.status] === "optimal" ? "" : "-open")), size: 8, color: colour, opacity: own.map((row) => (fits(row) ? 0.85 : 0.15)) },
        hovertemplate: `<b>%{fullData.name}</b><br>%{text}<br>%{y}<extra></extra>` };
    }).filter(({ x }) => x.length);
    // A contender that does not depend on the axis has runs that stand for all of it.
    for (const row of rows.filter((row) => row[y] != null && row[at[axis]] == null)) {
      const name = `${nameOf(row[at.contender])} (everywhere)`;
      traces.push({ name, type: "scatter", mode: "lines", x: [Math.min(...places), Math.max(...places)], y: [row[y], row[y]], customdata: [row[LINE], row[LINE]], hoverinfo: "name+y",
        showlegend: !traces.some((other) => other.name === name), line: { color: shade(colourOf(row[at.contender])), width: 1.2, dash: "dot" }, opacity: fits(row) ? 0.85 : 0.15 });
    }
    const flagged = drawn.filter((row) => row[at.flagged]);
    if (flagged.length)
      traces.push({ name: "flagged for other load", type: "scatter", mode: "markers", x: flagged.map((row) => (axis === "contender" ? nameOf(row[at.contender]) : row[at[axis]])), y: flagged.map((row) => row[y]), hoverinfo: "skip",
        marker: { symbol: "x-thin-open", size: 7, color: colours().ink, line: { width: 1.2 }, opacity: flagged.map((row) => (fits(row) ? 0.85 : 0.15)) } });
    if (key === "cpu_seconds" && axis === "n")
      for (const law of laws) {
        const colour = law.paper ? "#8c8c8c" : colourOf(law.contender);
        traces.push({ name: `${nameOf(law.contender)}${law.paper ? " in the paper" : ""}: n<sup>${law.exponent.toFixed(2)}</sup>`, type: "scatter", mode: "lines", x: law.n, y: law.seconds, hoverinfo: "name", showlegend: law.paper, line: { color: shade(colour), width: 1.5, dash: law.paper ? "dash" : "solid" } });
      }
    const named = { n: "training examples", point: axisLabel || columns[at.point].header, contender: "" }[axis];
    const xType = axis === "contender" ? "category" : places.length > 1 && Math.max(...places) / Math.min(...places) > 5 ? "log" : "linear";
    const header = columns[y].header;
    Plotly.react("plot", traces, layoutOf(axisOf(named, xType, xType === "log" ? logTicks(Math.min(...places), Math.max(...places)) : {}), axisOf(header, log ? "log" : "linear", log ? logTicks(Math.min(...values), Math.max(...values), 7) : {}), { showlegend: axis !== "contender", legend: { orientation: "h", y: -0.22 }, height: 460, margin: { l: 64, r: 12, t: 8, b: 60 } }), CONFIG);
  };
  select.addEventListener("change", draw);
  addEventListener("themechange", draw);
  draw();
  if (quantities.length) document.getElementById("plot").on("plotly_click", ({ points: [point] }) => point.customdata != null && show(point.customdata));
  else for (const each of [document.getElementById("plot"), select.form]) each.hidden = true; // nothing was run

  const table = document.getElementById("records");
  const control = (content) => [{ target: 0, content }];
  const visible = columns.map((_, place) => place).filter((place) => used[place]);
  headTable(table, ["JSON", ...visible.map((place) => columns[place].header)]);
  const worded = new Set([at.contender, at.status, at.reason, at.flagged]);
  const words = { [at.contender]: nameOf, [at.status]: (status) => status.replaceAll("_", " ") };
  const worth = (value, key) => (value == null || value === "" ? "–" : typeof value === "number" ? tick(value, key) : String(value));
  const api = new DataTable(table, { ...tableOptions(table), paging: rows.length > 50, pageLength: 25, data: rows,
    columns: [
      { data: LINE, className: "prose short", orderable: false, columnControl: [], render: (value, type) => (type === "display" ? `<button type="button" class="line" data-line="${value}" aria-label="Line of JSON, ${DataTable.util.escapeHtml(lines[value][0])}">${DataTable.util.escapeHtml(shortPlace(lines[value][0]))}</button>` : lines[value][0]) },
      ...visible.map((place) => ({ data: place, className: worded.has(place) ? "prose short" : "",
        columnControl: control(place === at.contender || place === at.status || place === at.n ? [VALUES] : ["searchDropdown"]),
        render: (value, type) => (type !== "display" && type !== "filter" ? value ?? "" : DataTable.util.escapeHtml(words[place]?.(value) ?? (worded.has(place) ? value : worth(value, columns[place].key)))) }))] });
  table.addEventListener("click", ({ target }) => target.matches?.("button.line") && show(Number(target.dataset.line)));
  if (shown.n || shown.contender) {
    api.search.fixed("link", (_, data, place) => fits(rows[place]));
    api.draw();
    const note = document.createElement("p");
    note.className = "filtered";
    note.append(`Only ${[shown.n && `n = ${shown.n.map((n) => tick(Number(n))).join(", ")}`, shown.contender?.map(nameOf).join(", ")].filter(Boolean).join("; ")}. `);
    const all = document.createElement("button");
    all.type = "button";
    all.textContent = "Show all measurements";
    all.addEventListener("click", () => { shown.n = shown.contender = null; history.replaceState(null, "", location.pathname); api.search.fixed("link", null); api.draw(); draw(); note.remove(); });
    note.append(all);
    document.getElementById("plot").after(note);
  }
})();
