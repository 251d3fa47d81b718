// The head of the page, the filters, and the start.

const KINDS = {
  request: "Request", watch: "Watch event", undecodable: "Not decodable", message: "Message", status: "Status",
  ping: "Ping", pong: "Pong", close: "WebSocket close", raw: "Bytes", end: "End of the connection",
};
const GROUPS = {
  requests: ["request"], "watch events": ["watch", "undecodable"], messages: ["message", "status", "raw"],
  control: ["ping", "pong", "close", "end"],
};

function head() {
  const { client, server, note, totals } = data;
  const who = [client, server && `server ${server}`, note].filter(Boolean).join(" · ");
  const when = data.began ? `${data.began.replace("T", " ").replace("+00:00", " UTC")}` : "";
  byId("about").textContent = safe([who, when].filter(Boolean).join(" · "));
  const numbers = [
    [totals.connections, "connection"], [totals.requests, "request"], [totals.events, "watch event"],
    [totals.messages, "message"], [totals.failures, "failure"],
  ].filter(([number, word]) => number || word === "request");
  byId("totals").append(...numbers.map(([number, word]) => element("div", { class: word === "failure" ? "bad" : null },
    element("dt", {}, word + (number === 1 ? "" : "s")), element("dd", {}, number))),
  element("div", {}, element("dt", {}, "in all"), element("dd", {}, duration(data.seconds))));
  byId("notes").append(...data.notes.map((note) => element("p", { class: "note", role: "note" }, note)));
}

function filters() {
  const conns = [...new Set(data.lanes.map((lane) => lane.conn))];
  byId("connection").append(element("option", { value: "" }, "all"), ...conns.map((conn) => element("option", { value: conn }, `#${conn}`)));
  byId("of-connection").hidden = conns.length < 2;
  const there = new Set(data.items.map((item) => item.kind));
  const groups = Object.keys(GROUPS).filter((name) => GROUPS[name].some((kind) => there.has(kind)));
  byId("kinds").append(...groups.map((name) => element("label", {}, element("input", { type: "checkbox", checked: true, value: name }), " " + name)));
  byId("filters").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}

const searchable = (item) => {
  item.words ??= JSON.stringify([item.text, item.facts, item.request, item.answer]).toLowerCase();
  return item.words;
};

function filter() {
  const find = byId("find").value.trim().toLowerCase();
  const wanted = find && JSON.stringify(find).slice(1, -1);
  const conn = byId("connection").value;
  const kinds = new Set([...byId("kinds").querySelectorAll("input:checked")].flatMap((box) => GROUPS[box.value]));
  const failures = byId("failures").checked;
  for (const item of data.items) {
    item.shown = kinds.has(item.kind) && (!conn || String(item.conn) === conn) && (!failures || item.bad) && (!wanted || searchable(item).includes(wanted));
  }
  view.items = data.items.filter((item) => item.shown);
  if (focus.item && !focus.item.shown) focus.item = null;
  byId("shown").textContent = view.items.length === data.items.length ? count(data.items.length, "happening") : `${view.items.length} of ${count(data.items.length, "happening")}`;
  table.most = ROWS;
  drawTable();
  showDetails();
  view.draw();
}

head();
charts();
timeline();
filters();
filter();
view.all();
byId("zoom-in").addEventListener("click", () => view.zoom(0.6));
byId("zoom-out").addEventListener("click", () => view.zoom(1 / 0.6));
byId("zoom-all").addEventListener("click", () => view.all());
byId("details").addEventListener("keydown", (event) => { if (event.key === "Escape") closeDetails(); });
new ResizeObserver(() => view.draw()).observe(byId("lanes"));
const fromHash = () => {
  const item = data.items[/^#happening-\d+$/.test(location.hash) ? Number(location.hash.slice(11)) : -1];
  if (item) choose(item);
};
window.addEventListener("hashchange", fromHash);
fromHash();
matchMedia("print").addEventListener("change", () => view.drawNow());
