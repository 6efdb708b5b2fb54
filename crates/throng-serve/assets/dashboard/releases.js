// All releases, the newest first.

import { ask } from "/assets/api.js";
import { el, message, number, show, table } from "/assets/dom.js";
import { count, delta, epsilon, time } from "/assets/format.js";

export async function render(page) {
  const { releases } = await ask("releases");
  const row = (one, at) =>
    el(
      "tr",
      {},
      el(
        "td",
        {},
        el("a", { href: `/release?survey=${one.survey}&label=${one.label_number}&epoch=${one.epoch}`, id: `release-${at}` }, one.name),
        el("div", { class: "small faint" }, one.question),
      ),
      el("td", {}, String(one.epoch), one.label && ` · ${one.label}`, el("div", { class: "small faint" }, time(one.ended_s))),
      el("td", { class: "number" }, number(`respondents-${at}`, one.respondents, count(one.respondents))),
      el("td", { class: "number" }, `${count(one.significant)} of ${count(one.domain)}`),
      el("td", { class: "number" }, number(`epsilon-${at}`, one.epsilon_central, epsilon(one.epsilon_central)), el("div", { class: "small faint" }, `whatever fails, in one epoch, ${epsilon(one.epsilon_local)}`)),
      el("td", { class: "number" }, delta(one.delta)),
    );
  show(
    page,
    el("header", {}, el("h1", {}, "Releases"), el("p", { class: "faint" }, "What has been published, each with the guarantee that it was made under.")),
    releases.length === 0
      ? message("", el("p", { id: "none" }, "There is no release yet. When an epoch has reached its crowd, make one with `throng release --config analyzer.toml`."))
      : el(
          "div",
          { class: "panel" },
          table("releases", null, ["survey", "epoch", ...["people", "signal", "epsilon_central (removal)", "delta"].map((text) => [text, "number"])], releases.map(row)),
        ),
  );
}
