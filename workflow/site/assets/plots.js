// Figures by Plotly: zoom, and the numbers behind a mark.
"use strict";
const SYMBOLS = { o: "circle", s: "square", "^": "triangle-up", v: "triangle-down", "<": "triangle-left", ">": "triangle-right",
  D: "diamond", d: "diamond-tall", P: "cross", X: "x", "*": "star", p: "pentagon", h: "hexagon", "|": "line-ns-open", _: "line-ew-open", x: "x-thin-open",
  "+": "cross-thin-open", 7: "triangle-down" }; // a caret, as Matplotlib counts them
const symbolOf = (each) => { const name = SYMBOLS[each.marker] ?? "circle"; return each.hollow && !name.endsWith("-open") ? `${name}-open` : name; };
const DASHES = { "-": "solid", "--": "dash", ":": "dot", "-.": "dashdot" };
// Lengths of dashes and gaps are in widths of the line.
const dashOf = (line, width) => DASHES[line] ?? (/^[\d.,]+$/.test(line) ? line.split(",").map((length) => `${(length * width).toFixed(1)}px`).join(",") : "solid");
// Markers are as large to each other as in print.
const sizeOf = (each) => Math.min(15, Math.max(3, 1.78 * each.size));
const PIXELS = 96 / 72; // a point
const colours = () => {
  // A colour as the browser resolved it, for the present theme.
  const probe = document.body.appendChild(document.createElement("span"));
  const found = ["ink", "quiet", "line"].map((name) => { probe.style.color = `var(--${name})`; return [name, getComputedStyle(probe).color]; });
  probe.remove();
  return Object.fromEntries(found);
};
const isDark = () => document.documentElement.classList.contains("dark");
const partsOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const hex = (parts) => "#" + parts.map((part) => part.toString(16).padStart(2, "0")).join("");
const brightness = (colour) => { const [r, g, b] = partsOf(colour); return (0.3 * r + 0.59 * g + 0.11 * b) / 255; };
// A colour chosen for white paper, light enough for a dark page.
const shade = (colour) => {
  if (!isDark() || !/^#[0-9a-f]{6}$/i.test(colour)) return colour;
  const [r, g, b] = partsOf(colour);
  const light = brightness(colour);
  // A light grey recedes on white, and a dark one here.
  if (light > 0.7 && Math.max(r, g, b) - Math.min(r, g, b) < 24) return hex([r, g, b].map((part) => 285 - part));
  const mix = Math.max(0, 0.62 - light);
  return hex([r, g, b].map((part) => Math.round(part + (255 - part) * mix)));
};
// Ticks of a logarithmic axis: powers of ten, and between them what `most` leaves room for.
const ticks = (low, high, most = 9) => {
  const decades = Math.log10(high / low);
  const steps = 3 * decades <= most ? [1, 2, 5] : 2 * decades <= most ? [1, 3] : [1];
  const powers = [...Array(Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 5).keys()].map((place) => Math.floor(Math.log10(low)) - 2 + place);
  return powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`)));
};
const tickText = (value) => (value >= 1e5 || value < 1e-3 ? `${value.toExponential().replace(/^1e/, "10<sup>").replace(/^([235])e/, "$1·10<sup>").replace("+", "").replace("-", "−")}</sup>` : value.toLocaleString("en", { maximumFractionDigits: 4 }));
const logTicks = (low, high, most) => { const at = ticks(low, high, most); return { tickmode: "array", tickvals: at, ticktext: at.map(tickText) }; };
const raised = (text) => text.replace(/\^(\S+)/g, "<sup>$1</sup>");
const axisOf = (title, type, more = {}) => {
  const { ink, line } = colours();
  return { title: { text: title, font: { size: 12 }, standoff: 6 }, type, gridcolor: line, zerolinecolor: line, linecolor: line, color: ink,
    automargin: true, ...more };
};
const layoutOf = (x, y, more = {}) => {
  const { ink } = colours();
  return { xaxis: x, yaxis: y, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest", dragmode: "zoom",
    font: { family: "system-ui, sans-serif", size: 12, color: ink }, margin: { l: 56, r: 12, t: 8, b: 44 }, ...more };
};
// Without a pointer that hovers, the tool bar would always lie over the topmost points.
const CONFIG = { ...(matchMedia("(hover: none)").matches && { displayModeBar: false }), responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"], doubleClick: "reset" };
// Integers are counts: all their digits.
const said = (value, digits = 5) => (value == null ? "–" : (Number(value) + 0).toLocaleString("en", Number.isInteger(Number(value)) ? {} : { maximumSignificantDigits: digits }).replace("-", "−"));

// A panel of drawn numbers, see workflow/figures/drawn_data.py.
const panelTraces = (panel) => {
  const traces = [];
  for (const each of panel.spans ?? []) {
    const [low, high] = panel.y.range;
    traces.push({ x: [each.left, each.right, each.right, each.left], y: [low, low, high, high], mode: "none", type: "scatter", fill: "toself", fillcolor: shade(each.colour), hoverinfo: "skip" });
  }
  for (const each of panel.contours ?? [])
    traces.push({ x: each.x, y: each.y, mode: "lines", type: "scatter", hoverinfo: "skip", line: { color: shade(each.colour), width: 1, dash: dashOf(each.line, 1.5) } });
  // The basic bundle of Plotly has no heat map.
  for (const each of panel.cells ?? [])
    traces.push({ type: "bar", x: each.x, y: each.height, base: each.y.map((y, at) => y - each.height[at] / 2), width: each.width,
      marker: { color: each.colour, line: { width: 1, color: colours().line } }, hovertemplate: "%{customdata}<extra></extra>",
      customdata: cellRows(panel, each).map(([x, y, value]) => `${nameOf(panel.x)} ${said(x)}, ${nameOf(panel.y)} ${said(y)}: ${said(value)}`) });
  for (const each of panel.series) {
    const colour = shade(each.colour);
    const trace = { x: each.x, y: each.y, mode: each.mode, name: each.name, type: "scatter", opacity: each.opacity, connectgaps: false, cliponaxis: each.marker !== "7",
      line: { color: colour, width: each.mode.includes("markers") ? 1 : 1.6, dash: dashOf(each.line, 1.6) },
      marker: { symbol: symbolOf(each), size: sizeOf(each), color: colour, line: { width: symbolOf(each).endsWith("-open") ? 1.5 : 0, color: colour },
        // Plotly moves a marker where it points to: this one points downwards again when it is turned to the right.
        ...(each.shift && each.marker === "7" && { symbol: "triangle-right", angle: 90, standoff: PIXELS * each.shift }) },
      // With a template, Plotly would show what is to be skipped.
      ...(each.name || each.mode.includes("markers") ? { hovertemplate: `${each.name ? raised(each.name) + "<br>" : ""}%{customdata}<extra></extra>` } : { hoverinfo: "skip" }) };
    trace.customdata = each.x.map((x, at) => {
      const [low, high] = intervalAt(panel, each, at);
      return `${saidAt(panel.x, x)}, ${saidAt(panel.y, each.y[at])}${low == null ? "" : ` [${said(low)} … ${said(high)}]`}`;
    });
    if (each.low.length)
      trace.error_y = { type: "data", symmetric: false, thickness: 1, width: 3, color: colour,
        array: each.high.map((high, at) => (high == null ? null : high - each.y[at])), arrayminus: each.low.map((low, at) => (low == null ? null : each.y[at] - low)) };
    traces.push(trace);
  }
  for (const each of panel.bars)
    traces.push({ type: "bar", x: each.left.map((left, at) => left + each.width[at] / 2), y: each.height, width: each.width, name: each.name,
      marker: { color: shade(each.colour), opacity: 0.6 }, hovertemplate: `${each.name ? raised(each.name) + "<br>" : ""}%{customdata}<extra></extra>`,
      customdata: each.left.map((_, at) => `${binAt(panel.x, each, at)}: ${said(each.height[at])}`) });
  return traces;
};
// A text in lines of so many letters at most, as far as its words allow.
const wrap = (text, most) => text.split("\n").map((line) => line.split(" ").reduce((lines, word) => {
  const longer = `${lines.at(-1)} ${word}`;
  return lines.length && longer.length <= most ? [...lines.slice(0, -1), longer] : [...lines, word];
}, []).join("\n")).join("\n");
const inLines = (text) => raised(text).replaceAll("\n", "<br>");
const worthOf = (text) => {
  const [, sign, number, power] = text.match(/^([+\u2212-]?)(?:([\d.,]+)(?:\^([\u2212-]?\d+))?)%?$/) ?? [];
  return (sign === "\u2212" || sign === "-" ? -1 : 1) * (power ? Number(number) ** Number(power.replace("\u2212", "-")) : Number(number?.replaceAll(",", "")));
};
const nameOf = (axis) => axis.label.split("\n")[0];
// What a tick says, which in a map is not its place: cells are numbered.
const worthAt = (axis, place) => { const worth = worthOf(axis.ticks.find(([at]) => Math.abs(at - place) < 1e-6)?.[1] ?? ""); return Number.isFinite(worth) ? worth : place; };
const cellRows = (panel, cells) => cells.value.map((value, at) => [worthAt(panel.x, cells.x[at]), worthAt(panel.y, cells.y[at]), value]);
// Ticks that say another thing than their place, such as names, are the figure's own.
const isNamed = (axis) => axis.ticks.some(([at, text]) => !(Math.abs(worthOf(text) - at) <= 1e-6 * Math.abs(at)));
// Histograms of step lengths have the paper's axis: see `length` in workflow/analysis/step_lengths.py.
const worthOn = (axis, place) => (place != null && axis.label.startsWith("step length") ? Math.sign(place) * (10 ** (place * place / 2) - 1) : place);
// The named row or column of a mark that may stand beside its tick, or undefined.
const rowAt = (axis, place) => (place != null && axis.scale === "linear" && isNamed(axis) && worthOn(axis, 2) === 2 && axis.ticks.every(([at]) => Number.isInteger(at)) ? axis.ticks.find(([at]) => Math.abs(at - place) < 0.5)?.[1].replace(/,?\n/g, ", ") : undefined);
const saidAt = (axis, place) => rowAt(axis, place) ?? said(worthOn(axis, place));
const binAt = (axis, bars, at) => `${saidAt(axis, bars.left[at])} … ${saidAt(axis, bars.left[at] + bars.width[at])}`;
// The interval of a mark, if it is drawn: in a plot of named rows it is a line along the row.
const intervalAt = (panel, { x, y, low, high, mode, colour }, at) => {
  if (high[at] > low[at]) return [low[at], high[at]];
  if (!mode.includes("markers") || rowAt(panel.y, y[at]) == null) return [null, null];
  for (const line of panel.series.filter((each) => each.mode === "lines" && each.colour === colour))
    for (let end = 1; end < line.x.length; end += 1)
      if (line.y[end - 1] === y[at] && line.y[end] === y[at] && line.x[end - 1] <= x[at] && x[at] <= line.x[end]) return [line.x[end - 1], line.x[end]];
  return [null, null];
};
const LETTER = 6.5; // width in pixels, on average
const tickLines = (text, beside) => wrap(text, Math.floor(beside / LETTER));
// `room` is for the title, `beside` for each tick of an upright axis; both in pixels.
const panelAxis = (axis, most, room, beside) => {
  const range = axis.scale === "log" ? axis.range.map(Math.log10) : axis.range;
  const more = { range, ...(isNamed(axis) ? { tickvals: axis.ticks.map(([at]) => at), ticktext: axis.ticks.map(([, text]) => inLines(beside ? tickLines(text, beside) : text)) } : axis.scale === "log" ? logTicks(...[...axis.range].sort((a, b) => a - b), most) : {}) };
  const title = wrap(beside ? axis.label.replaceAll("\n", " ") : nameOf(axis), Math.floor(room / LETTER));
  return axisOf(inLines(title), axis.scale === "log" ? "log" : "linear", more);
};
// Small multiples share the axes of their neighbours: an empty label is the first panel's.
const sharedAxis = (panels, axis, which) => ({ ...axis, label: axis.label || panels.find((each) => each[which].label)?.[which].label || "",
  ticks: axis.ticks.length ? axis.ticks : panels.find((each) => each[which].ticks.length && String(each[which].range) === String(axis.range))?.[which].ticks ?? [] });
const readPanels = () => {
  const panels = JSON.parse(document.getElementById("figure-data").textContent);
  return panels.map((panel) => ({ ...panel, x: sharedAxis(panels, panel.x, "x"), y: sharedAxis(panels, panel.y, "y") }));
};
const drawPanels = () => {
  const place = document.getElementById("panels");
  if (!place) return;
  const panels = readPanels();
  place.querySelectorAll(".plot").forEach((plot) => Plotly.purge(plot));
  place.replaceChildren();
  for (const panel of panels) {
    const box = document.createElement("section");
    box.className = "panel";
    const title = document.createElement("h2");
    title.textContent = panel.title;
    if (panel.aside) {
      const aside = document.createElement("span");
      aside.className = "quiet";
      aside.append(...withPowers(` ${panel.aside}`));
      title.append(aside);
    }
    const plot = document.createElement("div");
    plot.className = "plot";
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${panel.title || "Figure"}: a plot; the table below has its numbers`);
    box.append(...(title.firstChild ? [title] : []), plot);
    place.append(box);
    const under = new Map((panel.cells ?? []).flatMap((each) => each.x.map((x, at) => [`${x},${each.y[at]}`, each.colour[at]])));
    const inkOn = (colour) => (!colour ? colours().quiet : brightness(colour) < 0.48 ? "#fff" : "#222");
    const notes = panel.notes.filter((note) => note.x != null && note.y != null).map((note) => noteOf(panel, note, inkOn(under.get(`${note.x},${note.y}`))));
    const width = plot.clientWidth;
    const narrow = width < 500;
    const beside = Math.max(70, (narrow ? 0.33 : 0.28) * width);
    if (isNamed(panel.y)) {
      const most = Math.max(...panel.y.ticks.map(([, text]) => tickLines(text, beside).split("\n").length));
      plot.style.height = `${Math.max(plot.clientHeight, 80 + (narrow ? 13 : 16) * most * panel.y.ticks.length)}px`;
    }
    const height = plot.clientHeight;
    const more = { ...(panel.equal && { constrain: "domain" }), ...((panel.cells || narrow) && { tickfont: { size: 10 } }) };
    const x = { ...panelAxis(panel.x, narrow ? 5 : 9, width - 90), tickangle: 0, ...more };
    const y = { ...panelAxis(panel.y, 7, height - 70, beside), ...more, ...(panel.equal && { scaleanchor: "x" }) };
    Plotly.newPlot(plot, panelTraces(panel), layoutOf(x, y, { annotations: notes, barmode: "overlay" }), CONFIG);
    plot.on("plotly_click", ({ points: [point] }) => showPoint(place, panel, point));
  }
  const more = JSON.parse(document.getElementById("figure-more").textContent);
  drawLegend(panels, more.legend);
  // Below the axis of a figure there may be notes on it.
  const below = new Set(panels.flatMap((panel) => panel.x.label.split("\n").slice(1)));
  document.getElementById("below").textContent = [...below, ...more.notes].join("\n");
};
const noteOf = (panel, note, colour) => {
  const place = ({ scale }, value) => (scale === "log" ? Math.log10(value) : value);
  const [x, y] = [place(panel.x, note.x), place(panel.y, note.y)];
  const [low, high] = panel.x.range.map((end) => place(panel.x, end));
  const [across, up] = note.align ?? ["center", "center"];
  // What begins at the right end of the picture would be cut off.
  const atEnd = across === "left" && (x - low) / (high - low) > 0.97;
  const [right, above] = note.shift ?? [0, 0];
  return { x, y, text: inLines(note.text), align: across, xanchor: atEnd ? "right" : across, yanchor: atEnd ? "bottom" : ({ top: "top", center: "middle", center_baseline: "middle" }[up] ?? "bottom"),
    xshift: PIXELS * right, yshift: PIXELS * above, showarrow: false, borderpad: 0, font: { size: 10, color: colour } };
};
const withPowers = (text) => text.split(/(\^\S+)/).map((part) => {
  if (!part.startsWith("^")) return part;
  const power = document.createElement("sup");
  power.textContent = part.slice(1);
  return power;
});
const showPoint = (place, panel, point) => {
  const out = document.getElementById("point");
  out.textContent = [panel.title, point.data.name, point.customdata ?? `${said(point.x)}, ${said(point.y)}`].filter(Boolean).join(" · ") + " ";
  // One title may begin another, and those of panels are wrapped: the longest one that fits.
  const plain = (title) => `${title.replaceAll(",", "")} `;
  const fitting = Object.entries(JSON.parse(place.dataset.links)).filter(([title]) => plain(panel.title).startsWith(plain(title)));
  const experiment = fitting.sort(([one], [other]) => other.length - one.length)[0]?.[1] ?? place.dataset.link;
  // The paper's own numbers have no measurements here.
  if (experiment && !/\bpaper\b/.test(point.data.name ?? "")) {
    const link = document.createElement("a");
    link.href = experiment + (panel.x.label.startsWith("training examples") && point.data.mode.includes("markers") ? `#n=${Math.round(point.x)}` : "");
    link.textContent = "its measurements";
    out.append(link);
  }
};
// The outlines of Matplotlib's markers in a box of 12 by 12.
const OUTLINES = { o: "M2.5 6a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", s: "M2.5 2.5h7v7h-7z", "^": "M6 2l4.2 7.5H1.8z", v: "M6 10L1.8 2.5h8.4z", "<": "M2 6l7.5-4.2v8.4z", ">": "M10 6L2.5 1.8v8.4z",
  D: "M6 1.5L10.5 6 6 10.5 1.5 6z", d: "M6 1L9 6 6 11 3 6z", P: "M4.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z", X: "M3.5 1.5L6 4l2.5-2.5 2 2L8 6l2.5 2.5-2 2L6 8l-2.5 2.5-2-2L4 6 1.5 3.5z", x: "M2.5 2.5l7 7M9.5 2.5l-7 7",
  "*": "M6 1l1.3 3.4 3.7.2-2.9 2.3 1 3.6L6 8.5l-3.1 2 1-3.6L1 4.6l3.7-.2z", p: "M6 1.5l4.3 3.1-1.6 5.1H3.3L1.7 4.6z", h: "M6 1.5l3.9 2.2v4.6L6 10.5 2.1 8.3V3.7z", "|": "M6 1v10", _: "M1.5 6h9", "+": "M6 1v10M1 6h10",
  7: "M6 10L1.8 2.5h8.4z", ".": "M4 6a2 2 0 1 0 4 0a2 2 0 1 0-4 0z" };
const signOf = (looks) => {
  const make = (name, given) => { const made = document.createElementNS("http://www.w3.org/2000/svg", name); for (const [key, value] of Object.entries(given)) made.setAttribute(key, value); return made; };
  const colour = new Set(looks.map((each) => each.colour)).size > 1 ? "currentColor" : shade(looks[0].colour);
  const sign = make("svg", { width: 28, height: 12, "aria-hidden": "true" });
  if (looks[0].mode === "area") sign.append(make("path", { d: "M4 1h20v10H4z", fill: colour, stroke: "var(--line)" }));
  const line = looks.find((each) => each.mode.includes("lines"));
  if (line) sign.append(make("path", { d: "M0 6h28", stroke: colour, "stroke-width": 1.6, "stroke-dasharray": { "-": "none", "--": "6 4", ":": "1.5 3", "-.": "6 3 1.5 3" }[line.line] ?? dashOf(line.line, 1.6).replaceAll("px", "") }));
  const marked = looks.find((each) => each.marker);
  if (marked) sign.append(make("path", { d: OUTLINES[marked.marker] ?? OUTLINES.o, transform: "translate(8)", stroke: colour, "stroke-width": 1.4, fill: marked.hollow ? "var(--paper)" : colour }));
  return sign;
};
const drawLegend = (panels, others) => {
  const named = new Map();
  const looked = (all, mode) => (all ?? []).map((each) => ({ ...each, mode }));
  for (const each of panels.flatMap((panel) => [...looked(panel.spans, "area"), ...looked(panel.bars, "area"), ...panel.series, ...looked(panel.contours, "lines")]).concat(others)) if (each.name) named.set(each.name, [...(named.get(each.name) ?? []), each]);
  document.getElementById("legend").replaceChildren(...[...named].map(([name, looks]) => {
    const item = document.createElement("li");
    item.append(signOf(looks), ...withPowers(name));
    return item;
  }));
};
const listNumbers = () => {
  const place = document.getElementById("numbers");
  if (!place) return;
  // A table for the panels of the same two quantities.
  const alike = Map.groupBy(readPanels(), (panel) => JSON.stringify([nameOf(panel.x) || "x", nameOf(panel.y) || "y"]));
  place.closest("details").addEventListener("toggle", () => {
    if (place.firstChild) return;
    for (const [key, panels] of alike) listPanels(place, JSON.parse(key), panels, alike.size > 1);
  });
};
// A cell of the table of numbers: what it is sorted by, and what it says.
const bare = (value) => ({ order: value, text: said(value) });
const placed = (axis, place) => {
  const name = rowAt(axis, place);
  if (name == null || Number.isFinite(worthOf(name))) return bare(name == null ? worthOn(axis, place) : worthOf(name));
  return { order: name, text: DataTable.util.escapeHtml(name) };
};
const listPanels = (place, [x, y], panels, several) => {
  const marks = panels.flatMap((panel) => panel.series.flatMap((each) => each.x.map((x, at) => {
    if (x == null) return null;
    return [panel.title, each.name || "guide", each.mode.includes("markers") ? "mark" : "line", placed(panel.x, x), placed(panel.y, each.y[at]), ...intervalAt(panel, each, at)];
  }).filter(Boolean)));
  const bars = panels.flatMap((panel) => panel.bars.flatMap((each) => each.left.map((left, at) => [panel.title, each.name, "bar", { order: worthOn(panel.x, left), text: binAt(panel.x, each, at) }, placed(panel.y, each.height[at])])));
  const cells = panels.flatMap((panel) => (panel.cells ?? []).flatMap((each) => cellRows(panel, each).map(([x, y, value]) => [panel.title, "", "cell", bare(x), bare(y), null, null, value])));
  const rows = [...marks, ...bars, ...cells];
  const isWords = (at) => at < 3 || rows.some((row) => typeof row[at]?.order === "string");
  const table = document.createElement("table");
  table.className = "data";
  table.setAttribute("aria-label", several ? `Numbers of the figure: ${y} and ${x}` : "Numbers of the figure");
  place.append(table);
  const headers = ["panel", "series", "drawn as", x, y, "low", "high", ...(cells.length ? ["value"] : [])];
  headTable(table, headers);
  new DataTable(table, { ...tableOptions(table), paging: rows.length > 150, data: rows.map((row) => headers.map((_, at) => row[at] ?? null)),
    columns: headers.map((_, at) => ({ className: isWords(at) ? "prose" : "", render: at < 3 ? DataTable.render.text() : at < 5 ? { _: "order", display: "text" } : { display: (value) => said(value) } })) });
};
const drawPicture = () => {
  const place = document.getElementById("picture");
  if (!place) return;
  const picture = new Image();
  picture.onload = () => {
    const ratio = picture.naturalHeight / picture.naturalWidth;
    place.style.aspectRatio = String(1 / ratio);
    const hidden = { visible: false, fixedrange: false };
    Plotly.newPlot(place, [{ x: [0, 1], y: [0, 1], mode: "markers", marker: { opacity: 0 }, hoverinfo: "skip" }], {
      xaxis: { ...hidden, range: [0, 1] }, yaxis: { ...hidden, range: [0, 1] }, margin: { l: 0, r: 0, t: 0, b: 0 }, dragmode: "zoom", paper_bgcolor: "#fff", plot_bgcolor: "#fff", showlegend: false,
      images: [{ source: picture.src, xref: "x", yref: "y", x: 0, y: 1, sizex: 1, sizey: 1, sizing: "stretch", layer: "below" }] }, CONFIG);
  };
  picture.src = place.dataset.source;
};
drawPanels();
listNumbers();
drawPicture();
addEventListener("themechange", drawPanels);
