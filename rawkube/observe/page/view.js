// The part of time that is drawn, and what is chosen. Whoever draws is told of changes.

const data = JSON.parse(byId("data").textContent);
data.items.forEach((item, at) => { item.at = at; });

const view = {
  from: 0,
  to: 1,
  cursor: null,
  chosen: null,
  items: data.items,
  drawers: [],
  pointers: [],
  waiting: false,

  whole() {
    const long = Math.max(data.seconds, 0.001);
    return [-long * 0.01, long * 1.04];
  },
  show(from, to) {
    const [first, last] = this.whole();
    const wide = Math.min(Math.max(to - from, 0.00005), last - first);
    this.from = Math.min(Math.max(from, first), last - wide);
    this.to = this.from + wide;
    this.draw();
  },
  all() { this.show(...this.whole()); },
  isAll() {
    const [first, last] = this.whole();
    return this.to - this.from >= (last - first) * 0.999;
  },
  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  },
  move(part) {
    const by = (this.to - this.from) * part;
    this.show(this.from + by, this.to + by);
  },
  reveal(item) {
    const wide = this.to - this.from;
    if (item.t < this.from || item.t > this.to) this.show(item.t - wide / 2, item.t + wide / 2);
  },
  // The cursor alone moves: what lies under the pointer stays, so that it can be clicked.
  point() { this.pointers.forEach((move) => move()); },
  // Once a frame, however many changes there were.
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.drawNow());
  },
  drawNow() {
    this.waiting = false;
    this.drawers.forEach((draw) => draw());
    this.point();
  },
};
