// Sliders over lists of values.

import { el } from "/assets/dom.js";
import { short } from "/assets/format.js";

/// A slider over a list of numbers in order, which rests at the one that is nearest to `first`. What it says of a value is
/// `say(value)`; the value itself, with all of its digits, is in `data-value`. `hint` says what it is for.
export function slider(id, name, values, first, hint = null, say = short) {
  const nearest = values.reduce((best, value, at) => (apart(value, first) < apart(values[best], first) ? at : best), 0);
  const input = el("input", { type: "range", id, min: 0, max: values.length - 1, step: 1, value: nearest });
  const output = el("output", { for: id, id: `${id}-shown` });
  const value = () => values[Number(input.value)];
  const tell = () => {
    output.textContent = say(value());
    output.dataset.value = value();
    input.setAttribute("aria-valuetext", say(value()));
  };
  input.addEventListener("input", tell);
  tell();
  return { input, value, tell, label: el("label", {}, el("span", { class: "head" }, name, output), input, hint && el("span", { class: "hint" }, hint)) };
}

/// How far apart two values are for a slider: by their ratio, or, where one is zero, by their difference.
function apart(a, b) {
  return a > 0 && b > 0 ? Math.abs(Math.log(a / b)) : Math.abs(a - b);
}
