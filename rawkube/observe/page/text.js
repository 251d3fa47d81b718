// Elements, numbers, bytes. Everything from outside becomes text by textContent alone.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child instanceof Node ? child : safe(String(child)));
  }
  return node;
}

const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

// Control characters and what turns the direction of writing are named, so that no text can hide another.
function safe(text) {
  return text
    .replace(/\r(?!\n)/g, "\\r").replace(/\r/g, "")
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (char) => "\\x" + char.charCodeAt(0).toString(16).padStart(2, "0"))
    .replace(/[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
      (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0"));
}

function bytesOf(part) {
  if (part.text !== undefined) return new TextEncoder().encode(part.text);
  return Uint8Array.from(atob(part.base64 || ""), (char) => char.charCodeAt(0));
}

function textOf(part) {
  return part.text !== undefined ? part.text : new TextDecoder().decode(bytesOf(part));
}

// JSON is laid out; anything else stays as it is.
function laidOut(text) {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function hexOf(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(at.toString(16).padStart(6, "0") + "  " + hex.padEnd(47) + "  " + text);
  }
  return lines.join("\n");
}

// A time with as many digits as a step of that size needs.
function seconds(t, step = 0.001) {
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  return t.toFixed(digits) + " s";
}

function duration(t) {
  if (t < 0.0995) return (t * 1000).toFixed(1) + " ms";
  return t < 1 ? Math.round(t * 1000) + " ms" : t < 100 ? t.toFixed(2) + " s" : Math.round(t) + " s";
}

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
// The line of a happening without its arrow, and its first words alone.
const lineOf = (item) => item.text.replace(/^[→←] /, "");
const titleOf = (item) => (item.kind === "watch" ? lineOf(item).split("  ")[0] : item.kind === "message" ? lineOf(item).split(' "')[0] : lineOf(item));
const clipped = (text, room) => (text.length <= room ? text : room < 3 ? "" : text.slice(0, room - 1) + "…");
