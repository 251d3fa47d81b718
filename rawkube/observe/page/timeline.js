// One lane for each connection and, in a session, for each channel.

const lanes = data.lanes.map((lane) => {
  const items = data.items.filter((item) => item.lane === lane.key);
  const events = items.some((item) => item.kind !== "request");
  const requests = items.some((item) => item.kind === "request");
  return { ...lane, items, events, requests, height: requests ? (events ? 50 : 32) : 26 };
});
const laneName = (lane) => lane.name || "requests";
const focus = { item: null };

function visible(lane) {
  return lane.items.filter((item) => item.shown);
}

function timeline() {
  const box = byId("lanes");
  followsPointer(box);
  box.addEventListener("keydown", onKey);
  view.drawers.push(() => drawLanes(box));
  byId("legend").append(
    key("client", "from the client"), key("server", "from the server"),
    data.totals.events ? key("event", "watch event") : "", key("bad", "failure"));
}

function key(name, text) {
  const mark = shape("rect", { class: `mark shape ${name}`, x: 1, y: 1, width: 7, height: 9, rx: 2 });
  return element("span", {}, shape("svg", { width: 9, height: 11, "aria-hidden": "true", class: "swatch" },
    shape("g", { class: `item ${name}` }, mark)), text);
}

function drawLanes(box) {
  const on = scale(box.clientWidth);
  const rows = [];
  const drawn = lanes.filter((lane) => visible(lane).length);
  let y = AXIS;
  drawn.forEach((lane, at) => {
    const first = at === 0 || drawn[at - 1].conn !== lane.conn;
    rows.push(drawLane(lane, on, y, first));
    y += lane.height;
  });
  const active = document.activeElement && box.contains(document.activeElement) && focus.item;
  if (!drawn.length) {
    box.replaceChildren(element("p", { class: "empty" }, data.items.length ? "Nothing matches the filters." : "Nothing passed in this recording."));
    return;
  }
  const area = { x: GUTTER, y: 0, width: Math.max(0, on.width - GUTTER), height: y };
  box.replaceChildren(shape("svg", { role: "group", "aria-label": "Timeline; arrow keys go from one happening to the next", height: y + 4 },
    shape("clipPath", { id: "clip-lanes" }, shape("rect", area)),
    shape("rect", { ...area, fill: "transparent" }), axis(on, y), rows, cursorLine(y)));
  if (active) focusOn(active, false);
}

function drawLane(lane, on, y, first) {
  const items = visible(lane);
  const edge = shape("line", { class: first ? "edge" : "grid", x1: first ? 0 : GUTTER, x2: on.width, y1: y, y2: y });
  const middle = y + (lane.requests ? 16 : lane.height / 2);
  const name = shape("g", { "aria-hidden": "true" },
    first ? shape("text", { class: "conn", x: 0, y: middle + 4 }, `#${lane.conn}`) : null,
    shape("text", { class: "soft", x: 38, y: middle + 4 }, clipped(laneName(lane), 12)));
  const points = items.filter((item) => item.kind !== "request");
  const pointsAt = lane.requests ? y + 38 : middle;
  const drawn = items.filter((item) => item.kind === "request").map((item, place, all) =>
    drawRequest(item, on, y + 7, place + 1 < all.length ? on.x(all[place + 1].t) : on.width));
  points.forEach((item, at) => {
    const x = on.x(item.t);
    const next = at + 1 < points.length ? on.x(points[at + 1].t) : on.width;
    if (x >= GUTTER - 4 && x <= on.width) drawn.push(drawPoint(item, x, pointsAt, next - x));
  });
  const label = `Connection ${lane.conn}, ${laneName(lane)}: ${count(items.length, "happening")}`;
  return shape("g", { role: "group", "aria-label": label }, edge, name, shape("g", { "clip-path": "url(#clip-lanes)" }, drawn));
}

function clickable(item, ...children) {
  const from = item.kind === "request" ? "" : `, from the ${item.side}`;
  const names = ["item", item.bad ? "bad" : "", item === view.chosen ? "chosen" : ""].join(" ").trim();
  const said = `${seconds(item.t)}${from}: ${lineOf(item)}${item.bad ? " (failure)" : ""}`;
  const node = shape("g", {
    class: names, role: "button", tabindex: item === (focus.item || data.items.find((one) => one.shown)) ? 0 : -1,
    "aria-label": said, "data-at": item.at, onclick: () => choose(item), onfocus: () => { focus.item = item; },
  }, children, shape("title", {}, said));
  return node;
}

// A bar from the request to the end of its answer, and what was asked: in it, or behind it where it is short.
function drawRequest(item, on, y, next) {
  const x = Math.max(on.x(item.t), GUTTER - 20);
  const end = Math.min(Math.max(on.x(item.end), x + 5), on.width + 20);
  const first = item.first === null ? end : Math.min(Math.max(on.x(item.first), x), end);
  const open = item.complete ? "" : "open";
  const begin = Math.max(end - first > first - x ? first : x, GUTTER);
  const text = `${item.answer ? item.answer.status : "no answer"} ${item.text}`;
  const fits = (from, to) => clipped(text, Math.floor((to - from - 10) / CHARACTER));
  const inside = fits(begin, Math.min(end, on.width));
  const label = inside.length > 12 || end > on.width - 60 ? inside : fits(end, next);
  return clickable(item,
    shape("rect", { class: `wait shape ${open}`, x, y, width: end - x, height: 19, rx: 4 }),
    end - first > 1 ? shape("rect", { class: `body shape ${open}`, x: first, y, width: end - first, height: 19, rx: 4 }) : null,
    label.length > 3 ? shape("text", { class: "mono", x: (label === inside ? begin : end) + 6, y: y + 13.5 }, label) : null);
}

// A mark that is as high as its bytes are many, and what it says where there is room.
function drawPoint(item, x, y, room) {
  const size = item.kind === "message" ? item.facts.size : 60;
  const half = Math.min(9, 3 + Math.log10(1 + size) * 1.5);
  const look = item.kind === "watch" ? "event" : item.side;
  const text = lineOf(item);
  const short = item.kind === "watch" && item.facts.changes.length ? item.facts.changes.join("  ") : shortened(item, text);
  const label = clipped(short, Math.floor((room - 14) / CHARACTER));
  return clickable(item,
    shape("rect", { class: "area", x: x - 5, y: y - 11, width: Math.max(12, Math.min(room, 16)), height: 22 }),
    shape("rect", { class: `mark shape ${look}`, x: x - 2.5, y: y - half, width: 5, height: half * 2, rx: 2 }),
    label.length > 3 || label === short ? shape("text", { class: "mono", x: x + 7, y: y + 4 }, label) : null);
}

// The lane says the channel already.
function shortened(item, text) {
  const name = item.facts.name;
  return item.kind === "message" && name && text.startsWith(name + " ") ? text.slice(name.length + 1) : text;
}

function focusOn(item, reveal = true) {
  focus.item = item;
  if (reveal) {
    view.reveal(item);
    view.drawNow();
  }
  const node = byId("lanes").querySelector(`[data-at="${item.at}"]`);
  if (node) node.focus({ preventScroll: !reveal });
}

function neighbour(item, name) {
  const drawn = lanes.filter((lane) => visible(lane).length);
  const at = drawn.findIndex((lane) => lane.key === item.lane);
  const own = visible(drawn[at]);
  if (name === "ArrowRight") return own[own.indexOf(item) + 1];
  if (name === "ArrowLeft") return own[own.indexOf(item) - 1];
  if (name === "Home") return own[0];
  if (name === "End") return own[own.length - 1];
  const other = drawn[at + (name === "ArrowDown" ? 1 : -1)];
  if (!other) return undefined;
  const far = (one) => Math.abs(one.t - item.t);
  return visible(other).reduce((best, one) => (far(one) < far(best) ? one : best));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = { ArrowLeft: -0.2, ArrowRight: 0.2 };
  const zooms = { "+": 0.7, "=": 0.7, "-": 1 / 0.7 };
  const item = focus.item || view.items[0];
  if (event.shiftKey && moves[event.key]) view.move(moves[event.key]);
  else if (zooms[event.key]) view.zoom(zooms[event.key], item && item.t >= view.from && item.t <= view.to ? item.t : undefined);
  else if (event.key === "0") view.all();
  else if ((event.key === "Enter" || event.key === " ") && item) choose(item, true);
  else if (/^(Arrow|Home|End)/.test(event.key) && item) {
    const next = neighbour(item, event.key);
    if (next) focusOn(next);
  } else return;
  event.preventDefault();
}
