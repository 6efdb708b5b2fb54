// What a survey guarantees, and what would be left of it.

import { ask } from "/assets/api.js";
import { el, figure, message, show } from "/assets/dom.js";
import { count, delta, epsilon, factor, percent } from "/assets/format.js";

export async function render(page, parameters, fail) {
  const { surveys } = await ask("surveys");
  const chosen = surveys.find((one) => one.survey === parameters.get("survey")) ?? surveys[0];
  const pick = el("select", { id: "survey" }, surveys.map((one) => el("option", { value: one.survey, selected: one === chosen }, `${one.name} (${one.survey.slice(0, 8)})`)));
  const panel = el("div", { class: "wide" });
  const open = () => survey(panel, surveys.find((one) => one.survey === pick.value), fail);
  pick.addEventListener("change", () => open().catch(fail));
  show(
    page,
    el(
      "header",
      {},
      el("h1", {}, "Guarantees"),
      el("p", { class: "faint" }, "What people are promised, and what is left of it if parties work together against them. Every number is computed by the accountant that releases use."),
    ),
    surveys.length > 1 && el("label", {}, "Survey", pick),
    panel,
  );
  await open();
}

async function survey(panel, one, fail) {
  const first = await ask(`surveys/${one.survey}/guarantee`);
  const instances = slider("instances", "Bad instances", 0, one.instances, 1, 0);
  const analyzer = el("input", { type: "checkbox", id: "analyzer" });
  const honest = slider("honest", "Honest share of the crowd", 1, 100, 1, Math.round(100 * one.honest_fraction));
  const crowd = slider("respondents", "Crowd", 1, 200, 1, 100);
  const bound = el("select", { id: "bound" }, first.bounds.map(({ name }) => el("option", { value: name, selected: name === one.bound }, name)));
  const answer = el("div", { class: "stack", id: "answer", "aria-live": "polite" });
  let last = null;
  const ask_again = async () => {
    const respondents = Math.max(1, Math.round((one.respondents_min * Number(crowd.input.value)) / 100));
    instances.output.textContent = `${instances.input.value} of ${one.instances}`;
    honest.output.textContent = `${honest.input.value} %`;
    crowd.output.textContent = count(respondents);
    answer.dataset.ready = "false";
    last?.abort();
    last = new AbortController();
    try {
      const asked = { instances: instances.input.value, analyzer: analyzer.checked, honest_fraction: Number(honest.input.value) / 100, respondents, bound: bound.value };
      show(answer, answered(await ask(`surveys/${one.survey}/guarantee`, asked, last.signal)));
      answer.dataset.ready = "true";
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.kind === "token" || error.kind === "gone") fail(error);
      else show(answer, message("bad", el("p", {}, error.message)));
    }
  };
  let timer;
  const soon = () => { clearTimeout(timer); timer = setTimeout(ask_again, 80); };
  for (const control of [instances.input, honest.input, crowd.input]) control.addEventListener("input", soon);
  for (const control of [analyzer, bound]) control.addEventListener("change", soon);
  show(
    panel,
    el(
      "form",
      { class: "panel", onsubmit: (event) => event.preventDefault(), "aria-labelledby": "whatif" },
      el("h2", { id: "whatif" }, `What if … (${one.name})`),
      instances.label,
      el("p", { class: "small faint" }, `An instance is bad when all of its ${one.hops} hops work for the attacker.`),
      el("label", { class: "check" }, analyzer, "The analyzer works with them"),
      honest.label,
      crowd.label,
      el("p", { class: "small faint" }, `Planned are at least ${count(one.respondents_min)}; a smaller crowd is destroyed, not released.`),
      el("label", {}, "Proved by the bound", bound),
      el("div", {}, el("button", { type: "reset", id: "reset", onclick: () => setTimeout(ask_again) }, "As planned")),
    ),
    answer,
  );
  panel.classList.add("split");
  await ask_again();
}

function slider(id, name, min, max, step, value) {
  const input = el("input", { type: "range", id, min, max, step, value });
  const output = el("output", { for: id, id: `${id}-shown` });
  return { input, output, label: el("label", {}, el("span", { class: "head" }, name, output), input) };
}

function answered(what) {
  const bound = what.bounds.find((one) => one.name === what.bound);
  const central = what.epsilon_central;
  return [
    what.destroyed && message("warn", el("p", { id: "destroyed" }, `With ${count(what.respondents)} people the epoch would be destroyed: ${count(what.respondents_min)} are planned. The numbers say what a release would have been worth.`)),
    verdict(what),
    el(
      "div",
      { class: "grid three" },
      figure("epsilon-local", what.backstop ? "the floor: epsilon_backstop" : "the floor: epsilon_local", what.epsilon_local, epsilon(what.epsilon_local), what.backstop ? "all that anyone ever sends about one value, whatever fails" : "what anyone sends in one epoch, whatever fails; each epoch spends it again"),
      figure("epsilon-fragment", "one fragment", what.epsilon_fragment, epsilon(what.epsilon_fragment), what.fragments > 1 ? `if one of ${what.fragments} fragments of a bit is known to be yours` : "each bit is sent in one fragment: as much as the floor"),
      figure("epsilon-central", "a release: epsilon_central", central ?? "", epsilon(central), central === null ? what.reason : `at delta ${delta(what.delta)}; ${count(what.honest_respondents)} honest people hide each other`, central === null ? "bad" : ""),
    ),
    el(
      "section",
      { class: "panel", "aria-labelledby": "words" },
      el("h2", { id: "words" }, "In words"),
      central !== null && el("p", {}, `Someone who sees the release, and knows everything about everyone else, becomes at most ${factor(central)} times surer about whether you took part and with what: e to the power of ${epsilon(central)}. With probability ${delta(what.delta)} it may be more.`),
      el("p", {}, `If everything fails at once, they become at most ${factor(what.epsilon_local)} times surer: that is the noise that your own device adds.`),
      el("h3", {}, `The bound: ${bound.name}`, el("span", { class: "faint small" }, ` (${bound.source})`)),
      el("p", { id: "bound-words" }, bound.words),
      el("h3", {}, "What is assumed"),
      el("ul", { class: "points" }, what.assumptions.map((text) => el("li", {}, text))),
      el("p", { class: "small faint" }, `Neighbors: ${what.neighbors}. Two worlds are compared, with and without all that one person sends; ${percent(what.honest_fraction)} of the crowd is honest.`),
    ),
  ];
}

/// The one number that the attacker leaves.
function verdict(what) {
  const { left } = what;
  const who = what.bad_instances === 0 ? (what.analyzer ? "Against the analyzer alone" : "Against someone who sees releases") : `Against ${what.bad_instances} of ${what.instances} instances${what.analyzer ? " and the analyzer" : ""}`;
  const box = (kind, value, text, note) =>
    el("div", { class: `figure ${kind}` }, el("span", { class: "name" }, `${who}, this is left`), el("span", { class: "number", id: "left", "data-kind": left.kind, "data-value": value }, text), el("span", { class: "note" }, note));
  switch (left.kind) {
    case "central":
      return box("good", left.epsilon, `ε ${epsilon(left.epsilon)}`, "the guarantee of the release, untouched");
    case "participation-only":
      return box("good", "", "the value stays sealed", "They see who took part, and envelopes that they cannot open.");
    case "local":
      return box("bad", left.epsilon, `ε ${epsilon(left.epsilon)}`, `Up to ${left.fragments} fragment${left.fragments === 1 ? "" : "s"} of a bit can be tied to you; with the release, at most ε ${epsilon(left.epsilon_with_release)}, the floor.`);
    default:
      return box("bad", left.epsilon, `ε ${epsilon(left.epsilon)}`, "Only the floor can be promised.");
  }
}
