// Every release, what it spent, and what is left.

import { ask } from "/assets/api.js";
import { el, figure, message, show, table } from "/assets/dom.js";
import { budget, count, delta, epsilon } from "/assets/format.js";

export async function render(page) {
  const ledger = await ask("ledger");
  show(
    page,
    el(
      "header",
      {},
      el("h1", {}, "Ledger"),
      el("p", { class: "faint" }, "Every release spends privacy of the people that it is about, over all surveys that ask them. A release that would exceed the budget is refused before it is made."),
    ),
    ledger.populations.map((one, at) => population(ledger, one, at)),
  );
}

function population(ledger, one, at) {
  const share = ledger.epsilon_budget > 0 ? one.epsilon_spent / ledger.epsilon_budget : 1;
  const kind = share > 0.9 ? "bad" : share > 0.6 ? "warn" : "good";
  const row = (line) => {
    const links = line.labels.map((label) => el("a", { href: `/release?survey=${line.survey}&label=${label}&epoch=${line.epoch}` }, label === 0 ? "look at it" : `label ${label}`));
    return el(
      "tr",
      {},
      el("td", {}, line.name ?? el("code", {}, line.survey.slice(0, 8))),
      el("td", {}, String(line.epoch)),
      el("td", { class: "number" }, line.honest_respondents === null ? "–" : count(line.honest_respondents)),
      el("td", { class: "number", "data-value": line.epsilon_alone ?? "" }, epsilon(line.epsilon_alone)),
      el("td", {}, el("span", { class: "row" }, links)),
    );
  };
  return el(
    "section",
    { class: "panel", "aria-labelledby": `population-${at}` },
    el("h2", { id: `population-${at}` }, one.population),
    el(
      "div",
      { class: "grid figures" },
      figure(`spent-${at}`, "spent so far", one.epsilon_spent, epsilon(one.epsilon_spent), `epsilon (removal) at delta ${delta(ledger.delta_budget)}, all releases together`),
      figure(`left-${at}`, "left", one.epsilon_left, budget(one.epsilon_left), `of a budget of ${budget(ledger.epsilon_budget)}`, kind),
    ),
    el("progress", { max: 1, value: share, "aria-label": "The share of the budget that is spent" }),
    one.releases.length === 0
      ? message("", el("p", {}, "Nothing has been released about these people."))
      : table(
          `ledger-${at}`,
          "Releases, in order. Together they spend at most the sum of what each spends alone, and mostly less, because the accountant composes them. Honest people are rounded down, by half a percent at most: crowds of about one size are composed as one.",
          ["survey", "epoch", ["honest people", "number"], ["epsilon alone (removal)", "number"], ""],
          one.releases.map(row),
        ),
  );
}
