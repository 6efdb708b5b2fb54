// What is asked, of whom, and how far it is.

import { Problem, ask } from "/assets/api.js";
import { el, facts, message, number, show, table } from "/assets/dom.js";
import { count, delta, epsilon, percent, span, time } from "/assets/format.js";

const EPOCH = {
  collecting: ["run", "collecting", "People answer. Only the first hops know how many, until the epoch is over."],
  waiting: ["", "waiting for batches", "The epoch is over; the hops shuffle, and the analyzer comes for what they release."],
  sealed: ["warn", "crowd reached, sealed", "Enough people answered. Nobody has opened what they sent, and nothing is spent yet: `throng release` books it in the ledger and opens it."],
  reached: ["warn", "opened, not released", "It is in the ledger and open. Make the release with `throng release`, which costs nothing more."],
  erased: ["bad", "erased unopened", "Nobody asked for a release for as long as the survey allows. What waited sealed was erased, and nothing was learnt."],
  damaged: ["bad", "cannot be read", "What an instance gave is a file on the analyzer's machine that cannot be read any more. `throng release` says which."],
  destroyed: ["bad", "destroyed", "Too few people answered: every instance destroyed what it had, and nothing was learnt."],
  released: ["good", "released", "There is a release."],
};
const INSTANCE = { sealed: "released, sealed", erased: "erased unopened", counted: "released and opened", destroyed: "destroyed", missing: "not yet heard of", damaged: "cannot be read" };
const CONTACT = {
  answers: ["good", "answers", "It answers under the certificate of its signed address."],
  fails: ["bad", "does not answer", "The analyzer comes for batches here, and gets no answer."],
  unknown: ["", "not asked yet", "The analyzer has just started."],
};
const NOT_REACHED = "The analyzer cannot reach this hop. It needs nothing from it; the hop may be closed to the analyzer, or away.";

export async function render(page, parameters, fail) {
  let before = "";
  const unreached = message("warn", el("p", { id: "unreached" }, "The analyzer does not answer just now. What is here is as it was last; it is asked again every few seconds."));
  const draw = async () => {
    const all = await ask("surveys");
    unreached.remove();
    const { now_s, ...rest } = all;
    for (const bar of page.querySelectorAll("progress[data-begins]")) tick(bar, now_s);
    // What has not changed is left alone, with the keyboard's place in it.
    const state = JSON.stringify({ ...rest, surveys: rest.surveys.map((one) => ({ ...one, paths: one.paths.map((path) => ({ ...path, hops: path.hops.map(({ heard_s, ...hop }) => hop) })) })) });
    if (state === before) return;
    before = state;
    show(
      page,
      el("header", {}, el("h1", {}, "Surveys"), el("p", { class: "faint" }, "What is asked, of whom, and how far each epoch is. Nothing here counts people before a release.")),
      all.ready
        ? el("p", {}, el("span", { class: "badge good", id: "ready", "data-value": "true" }, "the analyzer is ready"))
        : message("bad", el("p", { id: "ready", "data-value": "false" }, "The analyzer is not ready:"), el("ul", { class: "points" }, all.wrong.map((text) => el("li", {}, text)))),
      all.ready && all.wrong.length > 0 && message("warn", el("ul", { class: "points", id: "wrong" }, all.wrong.map((text) => el("li", {}, text)))),
      all.surveys.map((survey) => panel(survey, now_s)),
    );
  };
  await draw();
  // An analyzer that starts anew, or a machine that was asleep, is there again soon. A wrong token stays wrong.
  const failed = (error) => {
    if (error instanceof Problem && error.kind !== "token") return page.prepend(unreached);
    clearInterval(timer);
    fail(error);
  };
  const timer = setInterval(() => {
    if (!document.hidden) draw().catch(failed);
  }, 5000);
}

function tick(bar, now_s) {
  bar.value = Math.min(now_s - Number(bar.dataset.begins), bar.max);
}

function panel(survey, now_s) {
  const bar = el("progress", { max: survey.epoch_s, value: 0, "data-begins": survey.epoch_begins_s, "aria-label": "How much of the epoch is over" });
  tick(bar, now_s);
  const id = survey.survey.slice(0, 8);
  return el(
    "section",
    { class: "panel", id: `survey-${id}`, "aria-labelledby": `name-${id}` },
    el("header", {}, el("h2", { id: `name-${id}` }, survey.name), el("code", { class: "faint", title: survey.survey }, id)),
    survey.question && el("p", { id: `question-${id}` }, survey.question),
    survey.warnings.map((text) => message("warn", el("p", {}, text))),
    el(
      "div",
      { class: "grid" },
      facts([
        ["asked are", survey.population],
        ["one of", el("span", {}, number(`domain-${id}`, survey.domain, count(survey.domain)), ` values, ${survey.encoding}`)],
        ["crowd", el("span", {}, "at least ", number(`respondents-min-${id}`, survey.respondents_min, count(survey.respondents_min)), " people in an epoch, or it is destroyed")],
        ["enrolment", survey.enrolment === "open" ? "open: nobody checks who is counted" : "with a credential for each person"],
        ["labels", survey.labels.join(", ")],
        ["trust profiles", Object.entries(survey.profiles).map(([label, instances]) => `${label}: fragments go to instance ${instances.join(", ")} alone`).join("; ")],
      ]),
      facts([
        ["promise", el("span", {}, "a release is at most epsilon_central ", number(`claim-${id}`, survey.epsilon_central, epsilon(survey.epsilon_central)), ` (removal), delta ${delta(survey.delta)}; whatever fails, `, survey.backstop ? "all that anyone sends while their answer stays the same" : "what anyone sends in an epoch", " is at most ", survey.backstop ? "epsilon_backstop " : "epsilon_local ", number(`floor-${id}`, survey.epsilon_local, epsilon(survey.epsilon_local)), " (removal)")],
        ["proved by", `the bound “${survey.bound}”`],
        ["relies on", `${percent(survey.honest_fraction)} of the crowd being honest`],
        ["sends", `${survey.envelopes} envelopes to each of ${survey.instances} instances${survey.cover === "none" ? ", without cover" : ""}`],
        ["more", el("a", { href: `/guarantees?survey=${survey.survey}` }, "What if …?")],
      ]),
    ),
    el(
      "div",
      { class: "stack close" },
      el("h3", {}, "This epoch"),
      bar,
      el("p", { class: "small faint" }, "Epoch ", number(`epoch-${id}`, survey.epoch, String(survey.epoch)), `, ${span(survey.epoch_s)} long, until ${time(survey.epoch_ends_s)}.`),
    ),
    epochs(survey, id),
    parties(survey, id),
  );
}

function epochs(survey, id) {
  const row = (line) => {
    const [kind, word, title] = EPOCH[line.state];
    const where = `/release?survey=${survey.survey}&label=${line.label}&epoch=${line.epoch}`;
    return el(
      "tr",
      {},
      el("td", {}, String(line.epoch), line.label_name && ` · ${line.label_name}`, el("div", { class: "small faint" }, time(line.ends_s))),
      el(
        "td",
        {},
        el("span", { class: "row tight" }, el("span", { class: `badge ${kind}`, title, "data-value": line.state }, word), line.state === "released" && el("a", { href: where }, "look at it")),
        el("div", { class: "small faint", "data-value": line.instances.join(" ") }, line.state === "collecting" ? "only first hops know how many have answered" : together(line.instances)),
      ),
    );
  };
  return table(`epochs-${id}`, "Epochs, the newest first", [["epoch, and its end", null, "epoch"], ["state, and what became of it at the instances", null, "state"]], survey.epochs.map(row));
}

/// What became of an epoch, in as few words as say it.
function together(outcomes) {
  if (outcomes.every((outcome) => outcome === "missing")) return "none has been heard of yet";
  const words = outcomes.map((outcome) => INSTANCE[outcome]);
  if (words.every((word) => word === words[0])) return `${words[0]} by all ${words.length}`;
  return words.map((word, at) => `instance ${at + 1}: ${word}`).join("; ");
}

function parties(survey, id) {
  const hop = (one, at, all) => {
    const [kind, word, title] = CONTACT[one.state];
    const is_last = at === all.length - 1;
    // A hop that is not the last may be closed to the analyzer, and do its work all the same.
    const shown = one.state === "fails" && !is_last ? ["warn", "not reached", NOT_REACHED] : [kind, word, title];
    const said = one.reason ?? (one.heard_s ? `answered ${time(one.heard_s)}` : "");
    return el(
      "li",
      {},
      el("span", { class: "row tight" }, `${one.operator || "unnamed"}`, el("span", { class: "faint small" }, one.jurisdiction), el("span", { class: `badge ${shown[0]}`, title: shown[2], "data-value": one.state }, shown[1])),
      said && el("div", { class: "small faint" }, said),
    );
  };
  const row = (path) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, String(path.instance)),
      el("td", {}, el("ol", { class: "hops" }, path.hops.map(hop))),
      el("td", { class: "small", "data-value": path.epoch_signed ?? "" }, path.epoch_signed === undefined ? "nothing yet" : `epoch ${path.epoch_signed}`),
    );
  const caption = `Instances and hops; analyzed by ${survey.analyzer.operator || "this analyzer"} ${survey.analyzer.jurisdiction}`;
  const heads = ["instance", ["its hops, first to last, and whether they answer the analyzer", null, "hops"], ["all of them last signed for", null, "signed for"]];
  return el("div", { class: "stack close" }, table(`instances-${id}`, caption, heads, survey.paths.map(row)), el("p", { class: "small faint" }, "That a hop answers says that it is there. That it does its work is known when it signs what became of an epoch."));
}
