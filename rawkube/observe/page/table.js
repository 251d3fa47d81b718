// The same as the drawing, in words: every happening that is shown, a line each.

const ROWS = 300;
const table = { most: ROWS };

function drawTable() {
  const shown = view.items.slice(0, table.most);
  byId("rows").replaceChildren(...shown.map(rowOf));
  if (!shown.length) byId("rows").append(element("tr", {}, element("td", { colspan: 5, class: "empty" }, "Nothing to show.")));
  const more = view.items.length - shown.length;
  byId("more").replaceChildren(...(more > 0 ? [element("button", { type: "button", onclick: () => {
    table.most += 1000;
    drawTable();
  } }, `Show ${Math.min(more, 1000)} more of ${more}`)] : []));
  markRow();
}

function rowOf(item) {
  const lane = item.lane.split(":")[1] || "";
  const status = item.kind === "request" ? (item.answer ? `${item.answer.status} ` : "no answer: ") : "";
  const open = () => {
    view.reveal(item);
    choose(item, true);
  };
  return element("tr", { "data-at": item.at }, element("td", {}, seconds(item.t, 0.0001)), element("td", {}, `#${item.conn}`),
    element("td", {}, lane), element("td", {}, item.side),
    element("td", {}, element("button", { type: "button", class: item.bad ? "bad" : null, onclick: open }, status + clipped(lineOf(item), 240))));
}

function markRow() {
  for (const row of byId("rows").children) {
    const isChosen = view.chosen !== null && row.dataset.at === String(view.chosen.at);
    row.classList.toggle("chosen", isChosen);
    if (isChosen) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}
