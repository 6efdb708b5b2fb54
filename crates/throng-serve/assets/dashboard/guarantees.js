// What a survey guarantees, and what would be left of it.

import { ask, lastOnly, partly } from "/assets/api.js";
import { el, figure, message, show } from "/assets/dom.js";
import { count, delta, epsilon, factor, floorLasts, percent, promise } from "/assets/format.js";
import { slider } from "/assets/slider.js";

export async function render(page, parameters, fail) {
  const { surveys } = await ask("surveys");
  const chosen = surveys.find((one) => one.survey === parameters.get("survey")) ?? surveys[0];
  const pick = el("select", { id: "survey" }, surveys.map((one) => el("option", { value: one.survey, selected: one === chosen }, `${one.name} (${one.survey.slice(0, 8)})`)));
  const panel = el("div", { class: "wide" });
  const open = () => {
    const one = surveys.find((one) => one.survey === pick.value);
    return survey(panel, one, one === chosen ? parameters.get("label") : null, fail);
  };
  pick.addEventListener("change", () => open().catch(fail));
  show(
    page,
    el(
      "header",
      {},
      el("h1", {}, "Guarantees"),
      el("p", { class: "faint" }, "What people are promised, and what is left of it if parties work together against them. Every number is computed by the accountant that releases use, and rounded to the weaker promise."),
    ),
    surveys.length > 1 && el("label", {}, "Survey", pick),
    panel,
  );
  await open();
}

/// `label` is the number of the one that the page was asked for, if any.
async function survey(panel, one, label, fail) {
  const first = await ask(`surveys/${one.survey}/guarantee`, { label });
  // The survey's own terms are among the values of each slider, as they are, and it rests there.
  const planned = (own, say) => (value) => (value === own ? `${say(value)}, as planned` : say(value));
  const instances = slider("instances", "Bad instances", range(0, one.instances), 0, `An instance is bad when all of its ${one.hops} hops work for the attacker.`, (value) => `${value} of ${one.instances}`);
  const analyzer = el("input", { type: "checkbox", id: "analyzer" });
  const honest = slider("honest", "Honest share of it", among(one.honest_fraction, range(1, 100).map((part) => part / 100)), one.honest_fraction, "The rest tell the attacker what they sent, and hide nobody.", planned(one.honest_fraction, percent));
  const crowds = range(1, 200).map((part) => Math.max(1, Math.round((one.respondents_min * part) / 100)));
  const crowd = slider("respondents", "Crowd", among(one.respondents_min, crowds), one.respondents_min, `Planned are at least ${count(one.respondents_min)}; a smaller crowd is destroyed, not released.`, planned(one.respondents_min, count));
  const bound = el("select", { id: "bound" }, first.bounds.map(({ name }) => el("option", { value: name, selected: name === one.bound }, name === one.bound ? `${name}, as planned` : name)));
  const under = el("select", { id: "label" }, one.labels.map((name, at) => el("option", { value: at + 1, selected: at + 1 === first.label }, named(one, name))));
  const answer = el("div", { class: "stack", id: "answer", "aria-live": "polite" });
  const asking = lastOnly();
  const failed = partly(answer, fail);
  const ask_again = async () => {
    answer.dataset.ready = "false";
    // What is as planned is not asked for: the analyzer takes it from the survey.
    const other = (value, own) => (value === own ? null : value);
    const asked = {
      instances: other(instances.value(), 0),
      analyzer: other(analyzer.checked, false),
      honest_fraction: other(honest.value(), one.honest_fraction),
      respondents: other(crowd.value(), one.respondents_min),
      bound: other(bound.value, one.bound),
      label: under.value,
    };
    try {
      show(answer, answered(await asking(`surveys/${one.survey}/guarantee`, asked), one));
      answer.dataset.ready = "true";
    } catch (error) {
      failed(error);
    }
  };
  let timer;
  // What is shown is not the answer any more, from now on.
  const soon = () => { answer.dataset.ready = "false"; clearTimeout(timer); timer = setTimeout(ask_again, 80); };
  const sliders = [instances, honest, crowd];
  for (const { input } of sliders) input.addEventListener("input", soon);
  for (const control of [analyzer, bound, under]) control.addEventListener("change", soon);
  // A form has its first values again only after this.
  const reset = () => { answer.dataset.ready = "false"; setTimeout(() => { sliders.forEach(({ tell }) => tell()); ask_again(); }); };
  show(
    panel,
    el(
      "form",
      { class: "panel", onsubmit: (event) => event.preventDefault(), "aria-labelledby": "whatif" },
      el("h2", { id: "whatif" }, `What if … (${one.name})`),
      one.labels.length > 0 && el("label", {}, "For those who answer under the label", under),
      instances.label,
      el("label", { class: "check" }, analyzer, "The analyzer works with them"),
      crowd.label,
      honest.label,
      el("label", {}, "Proved by the bound", bound),
      el("div", {}, el("button", { type: "reset", id: "reset", onclick: reset }, "As planned")),
    ),
    answer,
  );
  panel.classList.add("split");
  await ask_again();
}

/// A label, with where its fragments go if not everywhere.
function named(one, name) {
  const profile = one.profiles[name];
  return profile ? `${name} (instance ${profile.join(", ")} alone)` : name;
}

function range(from, to) {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/// These values and one more, each once, in order.
function among(own, values) {
  return [...new Set([...values, own])].sort((a, b) => a - b);
}

function answered(what, one) {
  const bound = what.bounds.find(({ name }) => name === what.bound);
  const [central, twice] = [what.epsilon_central, what.replacement];
  const claimed = what.planned ? `; the survey claims at most ${epsilon(one.epsilon_central)}` : "";
  return [
    what.destroyed && message("warn", el("p", { id: "destroyed" }, `With ${count(what.respondents)} people the epoch would be destroyed: ${count(what.respondents_min)} are planned. The numbers say what a release would have been worth.`)),
    verdict(what),
    el(
      "div",
      { class: "grid three" },
      figure("epsilon-local", "whatever fails: the local floor", what.epsilon_local, `ε ${epsilon(what.epsilon_local)}`, `${what.backstop ? "epsilon_backstop (removal): all that anyone ever sends while their answer stays the same" : "epsilon_local (removal): what anyone sends in one epoch; each epoch spends it again"}. Replacement: at most ${epsilon(twice.epsilon_local)}.`),
      figure("epsilon-fragment", "one fragment", what.epsilon_fragment, `ε ${epsilon(what.epsilon_fragment)}`, `${what.fragments > 1 ? `removal: if one of ${what.fragments} fragments of a bit is known to be yours` : "removal: each bit is sent in one fragment, so as much as the floor"}. Replacement: at most ${epsilon(twice.epsilon_fragment)}.`),
      figure("epsilon-central", "a release", central ?? "", central === null ? "–" : `ε ${epsilon(central)}`, central === null ? what.reason : `epsilon_central (removal) at delta ${delta(what.delta)}; ${count(what.honest_respondents)} honest people hide each other${claimed}. Replacement: at most ${epsilon(twice.epsilon_central)} at delta ${delta(twice.delta)}.`, central === null ? "bad" : ""),
    ),
    el(
      "section",
      { class: "panel", "aria-labelledby": "words" },
      el("h2", { id: "words" }, "In words"),
      central !== null && el("p", { id: "central-words" }, `Of anything that a release may show, even to someone who knows everything about everyone else: ${promise(central, what.delta, "your")} (delta).`),
      el("p", { id: "local-words" }, `If everything fails at once, what your device sent is at most ${factor(what.epsilon_local)} times as likely with your answer as with none, ${floorLasts(what.backstop)}: that is the noise that the device adds by itself.`),
      el("p", { id: "neighbors" }, "Each ε here is for ", el("strong", {}, what.neighbors), ": it compares that you answered with that you had nothing to say. Two different answers that you could have given are compared by ", el("strong", {}, "replacement"), ", which is up to twice the ε, and of a release 1 + e^ε times the delta: whoever goes from one answer to the other goes by way of none. Smaller is more private; at 0 nothing can be learnt."),
      el("p", { id: "absence" }, what.absence),
      el("h3", {}, `The bound: ${bound.name}`, el("span", { class: "faint small" }, ` (${bound.source})`)),
      el("p", { id: "bound-words" }, bound.words),
      el("h3", {}, "What is assumed"),
      el("ul", { class: "points" }, what.assumptions.map((text) => el("li", {}, text))),
    ),
  ];
}

/// The one number that the attacker leaves.
function verdict(what) {
  const { left } = what;
  const who = what.bad_instances === 0 ? (what.analyzer ? "Against the analyzer alone" : "Against someone who sees releases") : `Against ${what.bad_instances} of ${what.instances} instances${what.analyzer ? " and the analyzer" : ""}`;
  const box = (kind, value, text, note) =>
    el("div", { class: `figure ${kind}` }, el("span", { class: "name" }, `${who}, this is left`), el("span", { class: "number", id: "left", "data-kind": left.kind, "data-value": value }, text), el("span", { class: "note" }, note));
  const removal = (value) => `at most ε ${epsilon(value)} (removal)`;
  switch (left.kind) {
    case "central":
      return box("good", left.epsilon, removal(left.epsilon), "the guarantee of the release, untouched");
    case "participation-only":
      return box("good", "", "the value stays sealed", "They see who took part, and envelopes that they cannot open.");
    case "local":
      return box("bad", left.epsilon_with_release, removal(left.epsilon_with_release), `The floor, ${floorLasts(what.backstop)}: they have the release, and in each epoch up to ${left.fragments} fragment${left.fragments === 1 ? "" : "s"} of a bit can be tied to you. Those fragments alone say ${removal(left.epsilon)}, in one epoch.`);
    default:
      return box("bad", left.epsilon, removal(left.epsilon), `Only the floor can be promised, ${floorLasts(what.backstop)}.`);
  }
}
