// Making elements. Text is always text: nothing that comes from a server is read as markup.

const SVG = "http://www.w3.org/2000/svg";
const POWER = /(\d[\d.]*e-\d+)/;

/// An element: `el("p", { class: "faint", id: "x" }, "text", another)`. A property that is null or false is left out; names that
/// begin with "on" are listeners.
export function el(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

/// The same for SVG.
export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).flatMap(unbroken));
  return element;
}

/// A text, with each number such as 1e-6 in a piece of its own: a line would break at its sign, and read "1e-".
function unbroken(child) {
  if (typeof child !== "string" || !POWER.test(child)) return [child];
  const piece = (text, at) => {
    if (at % 2 === 0) return text;
    const number = document.createElement("span");
    number.className = "once";
    number.append(text);
    return number;
  };
  return child.split(POWER).map(piece);
}

/// Puts other children in the place of those that an element has.
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child).flatMap(unbroken));
  return element;
}

/// A number that was given by the server: shown in short, with the exact one in `data-value`.
export function number(id, value, text) {
  return el("span", { id, "data-value": value ?? "" }, text);
}

/// A large number with its name and a note.
export function figure(id, name, value, text, note, kind = "") {
  return el(
    "div",
    { class: `figure ${kind}` },
    el("span", { class: "name" }, name),
    el("span", { class: "number", id, "data-value": value ?? "" }, text),
    note && el("span", { class: "note" }, note),
  );
}

/// A list of terms and what they are; pairs without a second part are left out.
export function facts(pairs) {
  return el(
    "dl",
    { class: "facts" },
    pairs.filter(([, what]) => what !== null && what !== undefined && what !== false && what !== "").map(([term, what]) => [el("dt", {}, term), el("dd", {}, what)]),
  );
}

/// A table with what it is of above it, where nothing scrolls. Heads are texts, or a text, a class, and a shorter text. On
/// a phone each row is a block, with the head of its column, the shorter one if there is one, before each cell.
export function table(id, caption, heads, rows) {
  const all = heads.map((head) => [head].flat());
  for (const row of rows) {
    [...row.children].forEach((cell, at) => {
      cell.dataset.head = all[at][2] ?? all[at][0];
      cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
      cell.replaceChildren(el("div", {}, [...cell.childNodes]));
    });
    row.setAttribute("role", "row");
  }
  // Blocks would be no table to a screen reader without the roles.
  const head = ([text, kind]) => el("th", { scope: "col", class: kind, role: "columnheader" }, text);
  return el(
    "div",
    { class: "stack close" },
    caption && el("p", { class: "faint", id: `${id}-caption` }, caption),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { id, class: "stacked", role: "table", "aria-labelledby": caption && `${id}-caption` },
        el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, all.map(head))),
        el("tbody", { role: "rowgroup" }, rows),
      ),
    ),
  );
}

/// What went wrong, and what to do about it.
export function message(kind, ...children) {
  return el("div", { class: `message ${kind}`, role: kind === "bad" ? "alert" : "status" }, ...children);
}
