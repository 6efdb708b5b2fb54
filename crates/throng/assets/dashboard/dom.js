// Making elements. Text is always text: nothing that comes from a server is read as markup.

const SVG = "http://www.w3.org/2000/svg";

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
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/// Puts other children in the place of those that an element has.
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child));
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

/// What went wrong, and what to do about it.
export function message(kind, ...children) {
  return el("div", { class: `message ${kind}`, role: kind === "bad" ? "alert" : "status" }, ...children);
}
