// What the chart and the lanes share: one scale of time, one gutter for names.

const GUTTER = 118;
const AXIS = 24;
const CHARACTER = 6.65;

function scale(width) {
  const inner = Math.max(width - GUTTER - 8, 50);
  const perSecond = inner / (view.to - view.from);
  return {
    width,
    x: (t) => GUTTER + (t - view.from) * perSecond,
    t: (x) => view.from + (x - GUTTER) / perSecond,
    step: niceStep((view.to - view.from) / Math.max(2, Math.floor(inner / 100))),
  };
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((times) => times * power >= least * 0.999);
}

function axis(on, height) {
  const lines = [];
  for (let n = Math.max(0, Math.ceil(view.from / on.step)); n * on.step <= view.to; n++) {
    const x = on.x(n * on.step);
    if (x < GUTTER) continue;
    lines.push(shape("line", { class: "grid", x1: x, x2: x, y1: AXIS - 6, y2: height }));
    if (x < on.width - 20) lines.push(shape("text", { class: "soft", x, y: 12, "text-anchor": "middle" }, seconds(n * on.step, on.step)));
  }
  return shape("g", { "aria-hidden": "true" }, lines);
}

function cursorLine(height) {
  return shape("line", { class: "cursor", y1: AXIS - 6, y2: height });
}

function moveCursor(box) {
  const line = box.querySelector(".cursor");
  if (!line) return;
  const isSeen = view.cursor !== null && view.cursor >= view.from && view.cursor <= view.to;
  const x = isSeen ? scale(box.clientWidth).x(view.cursor) : 0;
  line.setAttribute("visibility", isSeen ? "visible" : "hidden");
  line.setAttribute("x1", x);
  line.setAttribute("x2", x);
}

// Wheel and pointer are the same over everything that has the scale of time.
function followsPointer(box) {
  const scaleOf = () => scale(box.clientWidth);
  const timeAt = (event) => scaleOf().t(event.clientX - box.getBoundingClientRect().left);
  let held = null;
  view.pointers.push(() => moveCursor(box));
  box.addEventListener("wheel", (event) => {
    if (event.deltaY > 0 && view.isAll() && !event.shiftKey) return; // the page scrolls on
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) view.move(sideways / 600);
    else view.zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 300), timeAt(event));
  }, { passive: false });
  box.addEventListener("pointerdown", (event) => {
    if (event.button === 0) held = { x: event.clientX, from: view.from, to: view.to, moved: false };
  });
  box.addEventListener("pointermove", (event) => {
    view.cursor = timeAt(event);
    if (held && (held.moved || Math.abs(event.clientX - held.x) > 4)) {
      if (!held.moved) box.setPointerCapture(event.pointerId);
      held.moved = true;
      const on = scaleOf();
      const by = on.t(held.x) - on.t(event.clientX);
      view.show(held.from + by, held.to + by);
    } else view.point();
  });
  const release = () => { held = null; };
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);
  box.addEventListener("pointerleave", () => { view.cursor = null; view.point(); });
}
