// Replicas over time, a chart for each workload that was watched.

const SERIES = ["desired", "updated", "ready", "available"];
const CHART = 132;

function countsAt(points, t) {
  let found = null;
  for (const [at, counts] of points) {
    if (at > t) break;
    found = counts;
  }
  return found;
}

function stepsOf(points, series, place) {
  const parts = [];
  let open = false;
  points.forEach(([t, counts], at) => {
    const until = at + 1 < points.length ? points[at + 1][0] : data.seconds;
    const value = counts && counts[series];
    if (value === null || value === undefined) {
      open = false;
      return;
    }
    parts.push(`${open ? "L" : "M"}${place(t, value, series)}L${place(until, value, series)}`);
    open = true;
  });
  return parts.join("");
}

function chartOf(workload) {
  const highest = Math.max(1, ...workload.points.flatMap(([, counts]) => counts || []));
  const values = SERIES.map((name) => element("b", {}, ""));
  const used = SERIES.filter((name, at) => workload.points.some(([, counts]) => counts && counts[at] !== null));
  const legend = element("p", { class: "legend" }, SERIES.map((name, at) => used.includes(name) ? element("span", {},
    shape("svg", { width: 26, height: 8, viewBox: "0 0 26 8", style: null, "aria-hidden": "true", class: "swatch" },
      shape("line", { class: `series ${name}`, x1: 0, x2: 26, y1: 4, y2: 4 })), name, values[at]) : null));
  const box = element("div", {});
  const title = `Replicas of ${workload.kind} ${workload.name}`;
  const first = workload.points[0][1];
  const last = workload.points[workload.points.length - 1][1];
  const tell = (counts) => (counts ? SERIES.map((name, at) => `${name} ${counts[at] ?? "–"}`).join(", ") : "deleted");
  const label = `${title}: at first ${tell(first)}; at last ${tell(last)}`;

  view.drawers.push(() => {
    const on = scale(box.clientWidth);
    const height = CHART - 12;
    const y = (value) => height - (value / highest) * (height - AXIS - 8);
    const step = Math.max(1, niceStep(highest / 4));
    const levels = [];
    for (let value = 0; value <= highest; value += step) {
      levels.push(shape("line", { class: "grid", x1: GUTTER, x2: on.width - 8, y1: y(value), y2: y(value) }),
        shape("text", { class: "soft", x: GUTTER - 8, y: y(value) + 4, "text-anchor": "end" }, value));
    }
    // Lines of the same height stand a little apart.
    const place = (t, value, series) => `${on.x(t).toFixed(1)},${(y(value) - (series - 1.5) * 2.2).toFixed(1)}`;
    const id = `clip-${workload.at}`;
    const lines = SERIES.map((name, at) => shape("path", { class: `series ${name}`, d: stepsOf(workload.points, at, place) }));
    box.replaceChildren(shape("svg", { role: "img", "aria-label": label, height: CHART },
      shape("clipPath", { id }, shape("rect", { x: GUTTER, y: 0, width: Math.max(0, on.width - GUTTER - 8), height: CHART })),
      axis(on, height), levels, shape("g", { "clip-path": `url(#${id})` }, lines), cursorLine(height)));
  });
  view.pointers.push(() => {
    const counts = countsAt(workload.points, view.cursor ?? Infinity);
    values.forEach((value, at) => { value.textContent = counts ? counts[at] ?? "" : "–"; });
  });
  followsPointer(box);
  return element("div", { class: "chart" }, element("div", { class: "bar" }, element("h2", {}, title), legend), box,
    element("details", { class: "narrow" }, element("summary", {}, "Values as a table"), valuesOf(workload)));
}

function valuesOf(workload) {
  const head = element("tr", {}, ["time", ...SERIES].map((name) => element("th", { scope: "col" }, name)));
  const rows = workload.points.map(([t, counts]) => element("tr", {}, element("td", {}, seconds(t)),
    SERIES.map((name, at) => element("td", {}, counts ? counts[at] ?? "–" : "gone"))));
  return element("table", {}, element("caption", { class: "soft" }, "From each time on"), element("thead", {}, head), element("tbody", {}, rows));
}

function charts() {
  data.charts.forEach((workload, at) => { workload.at = at; });
  byId("charts").hidden = !data.charts.length;
  byId("charts").append(...data.charts.map(chartOf));
}
