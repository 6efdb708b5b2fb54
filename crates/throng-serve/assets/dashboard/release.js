// One release: what it says, how sure that is, and what it promises.

import { ask, download, lastOnly, partly } from "/assets/api.js";
import { bars, legend, rankChart } from "/assets/chart.js";
import { el, facts, figure, message, show } from "/assets/dom.js";
import { atMost, budget, collusions, count, delta, epsilon, floorLasts, percent, promise, short, tenths, time } from "/assets/format.js";
import { draw } from "/assets/picture.js";

export async function render(page, parameters, fail) {
  const [survey, label, epoch] = [parameters.get("survey"), parameters.get("label") ?? "0", parameters.get("epoch")];
  if (!survey || !epoch) return location.replace("/releases");
  const path = `releases/${encodeURIComponent(survey)}/${encodeURIComponent(label)}/${encodeURIComponent(epoch)}`;
  const { release, ended_s, picture_width } = await ask(path);
  const views = [
    ["bars", "Bars", () => barsView(release)],
    ["ranks", "Ranks", () => ranksView(path)],
    ["picture", "Picture", () => pictureView(path, release, picture_width, fail)],
    ["table", "Table", () => tableView(path, release, fail)],
  ];
  const first = parameters.get("view") ?? (picture_width ? "picture" : "bars");
  show(
    page,
    el(
      "header",
      {},
      el("h1", { id: "name" }, release.name, release.label && ` · ${release.label}`),
      el("p", {}, release.question),
      el("p", { class: "faint small" }, `Epoch ${release.epoch}, which ended ${time(ended_s)}.`),
    ),
    el(
      "div",
      { class: "grid figures" },
      figure("significant", "stands out of the noise", release.significant, `${count(release.significant)} of ${count(release.domain)}`, `values; a false one among them with probability ${release.beta}`),
      figure("respondents", "people", release.respondents, count(release.respondents), `in batches of ${release.instances_present.length} of ${release.instances} instances`),
      figure("epsilon-central", "promise of this release", release.epsilon_central, `ε ${epsilon(release.epsilon_central)}`, `epsilon_central (removal) at delta ${delta(release.delta)}, bound ${release.bound}`, "good"),
      figure("epsilon-local", "whatever fails", release.epsilon_local, `ε ${epsilon(release.epsilon_local)}`, `${release.backstop ? "epsilon_backstop" : "epsilon_local"} (removal), ${floorLasts(release.backstop)}`),
    ),
    doubts(release),
    tabs(views, first, fail),
    downloads(path, release, picture_width, fail),
    promises(release, label),
  );
}

/// What cannot come from the crowd: in doubt as a whole, or withheld.
function doubts(release) {
  const withheld = release.withheld_values ?? 0;
  if (withheld === 0 && !release.doubts?.length) return null;
  const more = withheld - release.withheld.length;
  return el(
    "section",
    { class: "panel", id: "doubts", "aria-labelledby": "doubts-title", "data-value": release.doubts.length + withheld },
    el("h2", { id: "doubts-title" }, "Not what this crowd can have sent"),
    el(
      "ul",
      { class: "points" },
      release.doubts.map((doubt) => el("li", {}, `In doubt (${doubt.mark}): ${doubt.reason}`)),
      release.withheld.map((value) => el("li", {}, `${value.name} is withheld (${value.mark}): ${value.reason}.`)),
      more > 0 && el("li", {}, `${count(more)} more values are withheld; the table has them.`),
    ),
    el("p", { class: "faint small" }, `An honest crowd is marked like this in one release of ${count(Math.round(1 / release.false_alarm))} at most.`),
  );
}

/// What one liar can do, in words.
function oneLiar(release) {
  const { envelopes, estimate_up_max, estimate_down_max } = release.one_liar;
  const up = `can have ${count(envelopes)} envelopes counted for one value: its estimate is up to ${tenths(atMost(estimate_up_max, 1))} people too high, or ${tenths(atMost(estimate_down_max, 1))} too low`;
  if (release.liars === 0) return up;
  return `${up}. With ${count(release.liars)} of them, ${count(release.significant_with_liars)} values still stand out, above ${tenths(atMost(release.noise_threshold_with_liars, 1))}`;
}

/// What a line of the table is.
function badge(line) {
  if (line.estimate === null) return line.mark === "missing" || !line.mark ? ["missing", ""] : [`withheld: ${line.mark}`, "bad"];
  if (line.mark === "liars") return ["signal, or liars", ""];
  return line.significant ? ["signal", "good"] : ["noise", ""];
}

/// Tabs that the arrow keys move between.
function tabs(views, first, fail) {
  const panel = el("div", { role: "tabpanel", id: "view", tabindex: "0", class: "stack" });
  const open = async (button, draw) => {
    for (const other of list.children) {
      other.setAttribute("aria-selected", String(other === button));
      other.tabIndex = other === button ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", button.id);
    panel.dataset.view = "";
    // Whoever has gone on to another tab meanwhile is not brought back.
    const left = () => button.getAttribute("aria-selected") !== "true";
    try {
      const drawn = await draw();
      if (left()) return;
      show(panel, drawn);
      panel.dataset.view = button.id.replace("tab-", "");
    } catch (error) {
      if (!left()) partly(panel, fail)(error);
    }
  };
  const list = el(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Ways to look at it" },
    views.map(([name, title, draw]) => {
      const button = el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view" }, title);
      button.addEventListener("click", () => open(button, draw));
      return button;
    }),
  );
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...list.children];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    next.click();
  });
  (list.querySelector(`#tab-${CSS.escape(first)}`) ?? list.firstElementChild).click();
  return el("section", { class: "panel", "aria-label": "The estimate" }, list, panel);
}

function barsView(release) {
  if (release.top.length === 0) return message("", el("p", {}, "This release was made without a list of the largest values; look at the table."));
  return el(
    "figure",
    { id: "bars" },
    bars(release.top, { floor: release.noise_floor, threshold: release.noise_threshold, confidence: release.confidence }),
    el("figcaption", {}, `The ${release.top.length} largest estimates, in people, each with its ${percent(release.confidence)} interval. In the gray field, noise alone gives such counts.`),
    legend("signal", "noise", "floor", "threshold"),
  );
}

async function ranksView(path) {
  const ranks = await ask(`${path}/ranks`);
  return el(
    "figure",
    { id: "ranks", "data-value": ranks.points.length },
    rankChart(ranks.points, { floor: ranks.noise_floor, threshold: ranks.noise_threshold }),
    el("figcaption", {}, `All values that are known, the largest first, on log axes. Estimates below a tenth of the noise floor are not drawn.`),
    legend("signal", "noise", "floor", "threshold"),
  );
}

async function pictureView(path, release, picture_width, fail) {
  const canvas = el("canvas", { class: "picture", id: "picture", role: "img", "aria-label": "The estimates as a picture" });
  const mark = el("input", { type: "checkbox", id: "mark", checked: true });
  const width = el("input", { type: "number", id: "width", min: 1, max: release.domain, value: picture_width ?? likely(release.domain) });
  const said = el("div", {});
  const asking = lastOnly();
  const failed = partly(said, fail);
  let picture = null;
  const redraw = () => picture && draw(canvas, picture, mark.checked);
  const load = async () => {
    try {
      picture = await asking(`${path}/picture`, { width: width.value });
      canvas.dataset.value = `${picture.width}x${picture.height}`;
      show(said);
      redraw();
    } catch (error) {
      failed(error);
    }
  };
  mark.addEventListener("change", redraw);
  width.addEventListener("change", load);
  await load();
  return el(
    "figure",
    {},
    el("div", { class: "row" }, el("label", { class: "check" }, mark, "Colour what is signal"), el("label", { class: "check" }, "Width", width)),
    said,
    canvas,
    el("figcaption", {}, `Every value is a pixel, row by row; the largest estimate is the brightest. Green stands out of the noise; gray may be noise alone.${release.missing ? ` Of ${count(release.missing)} values, in blue-gray, nothing is known: their instances have not come.` : ""}`),
  );
}

function likely(domain) {
  let best = 1;
  for (let width = 1; width * width <= domain; width++) if (domain % width === 0) best = width;
  return domain / best;
}

async function tableView(path, release, fail) {
  const search = el("input", { type: "search", id: "search", placeholder: "a name or a number", autocomplete: "off" });
  const order = el("select", { id: "order" }, el("option", { value: "rank" }, "largest first"), el("option", { value: "value" }, "by value"));
  const body = el("tbody", {});
  const said = el("div", { class: "small faint", id: "found", role: "status" });
  const back = el("button", { type: "button", id: "back" }, "Back");
  const next = el("button", { type: "button", id: "next" }, "Next");
  const asking = lastOnly();
  const failed = partly(said, fail);
  let offset = 0;
  const load = async () => {
    const found = await asking(`${path}/estimates`, { search: search.value, order: order.value, offset, limit: LINES });
    said.dataset.value = found.found;
    const last = Math.min(offset + LINES, found.found);
    said.textContent = found.found === 0 ? "No value has such a name or number." : `${count(offset + 1)} to ${count(last)} of ${count(found.found)}${found.found < found.domain ? ` (of ${count(found.domain)} values)` : ""}`;
    back.disabled = offset === 0;
    next.disabled = last >= found.found;
    show(
      body,
      found.lines.map((line) =>
        el(
          "tr",
          { class: line.significant ? "" : "noise" },
          el("td", { class: "number" }, line.rank === null ? "" : count(line.rank)),
          el("td", { class: "grow" }, line.name),
          el("td", { class: "number", "data-value": line.estimate ?? "" }, line.estimate === null ? "" : tenths(line.estimate)),
          el("td", { class: "number" }, line.estimate === null ? "" : `± ${tenths(line.standard_error)}`),
          el("td", {}, el("span", { class: `badge ${badge(line)[1]}` }, badge(line)[0])),
        ),
      ),
    );
  };
  let timer;
  const reload = () => load().catch(failed);
  const again = () => { offset = 0; clearTimeout(timer); timer = setTimeout(reload, 150); };
  search.addEventListener("input", again);
  order.addEventListener("change", again);
  back.addEventListener("click", () => { offset = Math.max(0, offset - LINES); reload(); });
  next.addEventListener("click", () => { offset += LINES; reload(); });
  await load();
  return [
    el("div", { class: "grid" }, el("label", {}, "Search", search), el("label", {}, "Order", order)),
    said,
    el("p", { class: "faint", id: "estimates-caption" }, `Estimates in people; ± is one standard error. A value is signal above ${short(release.noise_threshold)}.${release.one_liar ? ` “Signal, or liars”: ${release.liars > 1 ? `${count(release.liars)} liars` : "one liar"} could have made it.` : ""}${release.missing ? ` ${count(release.missing)} values are missing: the instances that hold them have not come.` : ""}`),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        { id: "estimates", "aria-describedby": "estimates-caption" },
        el(
          "thead",
          {},
          el("tr", {}, el("th", { scope: "col", class: "number" }, "rank"), el("th", { scope: "col" }, "value"), el("th", { scope: "col", class: "number" }, "estimate"), el("th", { scope: "col", class: "number" }, "error"), el("th", { scope: "col" }, "")),
        ),
        body,
      ),
    ),
    el("div", { class: "row" }, back, next),
  ];
}

function downloads(path, release, picture_width, fail) {
  const width = () => document.getElementById("width")?.value ?? picture_width ?? likely(release.domain);
  const files = [
    ["estimates.csv", "Table (CSV)"],
    ["estimates.json", "Table (JSON)"],
    ["release.json", "Release (JSON)"],
    ["ranks.svg", "Rank plot (SVG)"],
    ["ranks.png", "Rank plot (PNG)"],
    ["picture.png", "Picture (PNG)"],
  ];
  const said = el("div", { id: "keep-said" });
  const button = ([file, text]) => {
    const keep = () => {
      show(said);
      download(`${path}/files/${file}`, file === "picture.png" ? { width: width() } : {}).catch(partly(said, fail));
    };
    return el("button", { type: "button", id: `download-${file.replace(".", "-")}`, onclick: keep }, text);
  };
  return el("section", { class: "panel", "aria-labelledby": "keep" }, el("h2", { id: "keep" }, "Keep it"), el("div", { class: "row" }, files.map(button)), said);
}

function promises(release, label) {
  const rejected = Object.entries(release.rejected).filter(([name, value]) => value > 0 && name !== "chaff");
  return el(
    "section",
    { class: "panel", "aria-labelledby": "promises" },
    el("h2", { id: "promises" }, "What it promises"),
    el("p", {}, `Of anything that this release could have shown, ${promise(release.epsilon_central, release.delta, "any one person's")} (delta). That is removal; between two answers that a person could have given, which is replacement, epsilon is at most twice as large: ${epsilon(2 * release.epsilon_central)}, at a delta of at most ${delta(replaced(release))}.`),
    facts([
      ["rests on", `${count(release.honest_respondents)} honest respondents`],
      ["if they collude", el("span", { id: "collusions" }, collusions(release))],
      ["spent", `epsilon ${epsilon(release.epsilon_spent)} of ${budget(release.epsilon_budget)} (removal) at delta ${delta(release.delta_budget)}, on ${release.population}`],
      ["one liar", release.one_liar && el("span", { id: "one-liar" }, oneLiar(release))],
      ["noise floor", `${short(release.noise_floor)} people, the standard error of a value that nobody holds`],
      ["not counted", rejected.length > 0 && `envelopes ${rejected.map(([name, value]) => `${REJECTED[name] ?? name}: ${count(value)}`).join(", ")}`],
    ]),
    el("ul", { class: "points" }, release.assumptions.map((text) => el("li", {}, text))),
    el("p", {}, el("a", { id: "what-if", href: `/guarantees?survey=${release.survey}${release.label ? `&label=${encodeURIComponent(label)}` : ""}` }, "What if …?")),
  );
}

/// The way from one answer to another leads over none: delta once, and once more by the factor of epsilon.
function replaced(release) {
  return release.delta * (1 + Math.exp(release.epsilon_central)) * (1 + 1e-14);
}

const LINES = 50;

const REJECTED = {
  length: "of another length",
  key: "for another key",
  seal: "whose seal does not open",
  content: "with no answer inside",
  duplicates: "that were there before",
  foreign: "for values that other instances count",
};
