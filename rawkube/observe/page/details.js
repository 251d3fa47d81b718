// What is known of the happening that was chosen.

function choose(item, moveFocus = false) {
  view.chosen = item;
  focus.item = item;
  showDetails();
  markRow();
  view.draw();
  if (moveFocus) byId("details").focus();
}

function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element("dl", { class: "facts" }, told.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function showDetails() {
  const item = view.chosen;
  const panel = byId("details");
  panel.classList.toggle("empty-panel", !item);
  if (!item) {
    panel.replaceChildren(element("h2", { class: "plain" }, "Details"),
      element("p", { class: "empty" }, "Choose a bar or a mark in the timeline, or a line of the table."));
    return;
  }
  const around = view.items.indexOf(item);
  const go = (by, text, label) => {
    const other = view.items[around + by];
    return element("button", { type: "button", "aria-label": label, disabled: !other,
      onclick: () => { view.reveal(other); choose(other); byId("details").focus(); } }, text);
  };
  panel.replaceChildren(element("div", {},
    element("div", { class: "bar" }, element("span", { class: item.bad ? "bad" : "soft" }, KINDS[item.kind] + (item.bad ? ", failure" : "")),
      element("div", { class: "buttons" }, go(-1, "←", "Previous happening"), go(1, "→", "Next happening"),
        element("button", { type: "button", "aria-label": "Close details", onclick: closeDetails }, "×"))),
    element("h2", {}, titleOf(item)),
    facts([["time", timeOf(item)], ["connection", `#${item.conn}`], ...(item.kind === "request" ? times(item) : [["from", item.side]])]),
    item.kind === "request" ? requestParts(item) : pointParts(item)));
  panel.scrollTop = 0;
}

function closeDetails() {
  const item = view.chosen;
  view.chosen = null;
  showDetails();
  markRow();
  if (item && item.shown) focusOn(item);
}

function timeOf(item) {
  if (!data.began) return seconds(item.t, 0.0001);
  const date = new Date(Date.parse(data.began) + item.t * 1000);
  return `${seconds(item.t, 0.0001)}  (about ${date.toISOString().slice(0, 19).replace("T", " ")} UTC)`;
}

function times(item) {
  const until = item.complete ? "whole" : "until it was cut off, or the recording ended";
  return [
    ["first byte", item.first === null ? "none came" : `after ${duration(item.first - item.t)}`],
    ["took", `${duration(item.end - item.t)}, ${until}`],
    ["ended by", item.error],
    ["cut off in", item.inside],
  ];
}

function requestParts(item) {
  const { request, answer } = item;
  const parts = [headersPart("Request headers", request.headers), bytesPart("Request body", request.body)];
  if (!answer) return [...parts, element("p", { class: "note" }, "No answer came.")];
  parts.push(facts([["status", `${answer.status} ${answer.reason}`], ["upgraded to", answer.protocol === null ? "" : answer.protocol || "no subprotocol"]]));
  return [...parts, headersPart("Response headers", answer.headers), bytesPart("Response body", answer.body)];
}

function headersPart(title, headers) {
  if (!headers.length) return null;
  return element("section", {}, element("h3", {}, title),
    element("dl", { class: "headers" }, headers.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])));
}

function pointParts(item) {
  const told = { ...item.facts };
  const parts = [];
  if (item.kind === "watch") parts.push(changesPart(item.facts));
  for (const [name, value] of Object.entries(told)) {
    if (value && typeof value === "object" && "kept" in value) {
      delete told[name];
      parts.push(bytesPart({ object: "Object", data: "Contents" }[name] || name, value));
    }
  }
  if (item.kind === "watch") return parts;
  if (item.kind === "message") return [facts([["channel", told.channel === null ? "" : `${told.channel} ${told.name}`], ["type", told.text ? "text" : "binary"]]), ...parts];
  const words = { of: "kind", exit_code: "exit code", resourceVersion: "resource version" };
  const pairs = Object.entries(told).map(([name, value]) => [words[name] || name, typeof value === "boolean" ? (value ? "yes" : "no") : value]);
  return [facts(pairs), ...parts];
}

function changesPart(told) {
  if (!told.changes.length) {
    const why = { ADDED: "It is shown for the first time.", BOOKMARK: "A bookmark: only the resource version.", DELETED: "It was deleted." }[told.type];
    return element("p", { class: "note" }, why || "Nothing is known to have changed: the object was not seen before, or is the same.");
  }
  const look = { "+": "plus", "-": "minus" };
  return element("section", {}, element("h3", {}, "Changed since the last one"),
    element("ul", { class: "changes" }, told.changes.map((change) => element("li", { class: look[change[0]] || null }, change))));
}

function bytesPart(title, part) {
  if (!part.size && !part.kept) return null;
  const cut = part.kept < part.size ? `the first ${part.kept} of ${part.size} bytes` : count(part.size, "byte");
  const sent = part.sent !== undefined && part.sent !== part.size ? `, ${part.sent} as sent` : "";
  const box = element("pre", { tabindex: 0, "aria-label": title });
  const buttons = ["Text", "Hex"].map((name) => element("button", { type: "button", onclick: () => show(name) }, name));
  function show(name) {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === name)));
    box.className = name === "Hex" ? "hex" : "";
    box.textContent = name === "Hex" ? hexOf(bytesOf(part)) : safe(laidOut(textOf(part)));
  }
  show(part.text === undefined ? "Hex" : "Text");
  return element("section", {}, element("div", { class: "choice" }, element("h3", {}, `${title}, ${cut}${sent}`), buttons), part.kept ? box : null);
}
