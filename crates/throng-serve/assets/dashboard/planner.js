// Planning a survey: what a guarantee costs, tried at once on a crowd whose truth is known.

import { download, lastOnly, partly } from "/assets/api.js";
import { legend, rankChart } from "/assets/chart.js";
import { el, facts, figure, message, show } from "/assets/dom.js";
import { atMost, bytes, collusions, count, epsilon, floorLasts, short, tenths, upTo } from "/assets/format.js";
import { draw } from "/assets/picture.js";
import { slider } from "/assets/slider.js";

const SAMPLES = [
  ["cat", "Picture: a cat"],
  ["horse", "Picture: a horse"],
  ["portrait", "Picture: a portrait"],
  ["map", "Picture: a map"],
  ["zipf", "Distribution: a power law"],
  ["heavy-hitters", "Distribution: a hundred heavy hitters"],
  ["uniform", "Distribution: all values alike"],
];

export async function render(page, parameters, fail) {
  const crowd = slider("respondents", "Crowd: people in an epoch", logSteps(2, 7), 5e4);
  const domain_hint = el("span", { id: "domain-hint" });
  const domain = slider("domain", "Values: possible answers", logSteps(1, 5), 1000, domain_hint);
  const central = slider("epsilon-central", "epsilon_central (removal)", logSteps(-1, 1), 1, "What a release may give away about one person: smaller is more private, and noisier.");
  const tau = slider("fragments", "Report fragments (tau)", range(1, 16), 1, "Into how many pieces each bit is cut: more of them tell a bad instance less, and cost more.");
  const instances = slider("instances", "Shuffler instances (K)", range(1, 9), 3, "Independent groups of servers that mix the answers.");
  const delta = el("select", { id: "delta" }, ["1e-5", "1e-6", "1e-7", "1e-8", "1e-9"].map((value) => el("option", { selected: value === "1e-6" }, value)));
  const sample = el("select", { id: "sample" }, SAMPLES.map(([value, text]) => el("option", { value }, text)));
  const name = el("input", { type: "text", id: "name", value: "survey", autocomplete: "off" });
  const question = el("input", { type: "text", id: "question", autocomplete: "off", placeholder: "in words that respondents see" });
  const mark = el("input", { type: "checkbox", id: "mark", checked: true });
  const answer = el("div", { class: "stack", id: "answer" });
  const brief = el("p", { class: "brief", id: "brief", "aria-hidden": "true" });
  const file_said = el("div", { id: "file-said" });
  const asking = lastOnly();
  let [seed, shown] = [1, null];

  const asked = () => ({
    epsilon_central: central.value(),
    delta: delta.value,
    respondents: crowd.value(),
    domain: domain.value(),
    report_fragments: tau.value(),
    instances: instances.value(),
  });
  const drawAll = () => shown && show(answer, planned(shown.page, mark));
  const again = async () => {
    answer.dataset.ready = "false";
    const plan = asked();
    try {
      const page = await asking("plan", { ...plan, sample: sample.value, seed });
      // A picture has its own number of values; the survey file is for the plan that is shown.
      shown = { page, plan: { ...plan, domain: page.domain } };
      show(domain_hint, pixels(plan.domain, page));
      show(brief, inBrief(page.plan));
      drawAll();
      file.disabled = false;
      answer.dataset.ready = "true";
    } catch (error) {
      if (error.name === "AbortError") return;
      shown = null;
      file.disabled = true;
      if (error.kind === "token" || error.kind === "gone") return fail(error);
      const title = error.kind === "too-much" ? "This is more than can be tried here" : "There is no such survey";
      show(answer, message("bad", el("h2", {}, title), el("p", { id: "refused" }, error.message)));
      show(brief, el("strong", {}, title));
      answer.dataset.ready = "refused";
    }
  };
  let timer;
  // What is shown is not the answer any more, from now on.
  const soon = () => { answer.dataset.ready = "false"; clearTimeout(timer); timer = setTimeout(again, 100); };
  for (const control of [crowd, domain, central, tau, instances]) control.input.addEventListener("input", soon);
  for (const control of [delta, sample]) control.addEventListener("change", soon);
  mark.addEventListener("change", drawAll);
  const keep = () => {
    show(file_said);
    download("plan/survey.toml", { ...shown.plan, name: name.value, question: question.value }).catch(partly(file_said, fail));
  };
  const file = el("button", { type: "button", class: "first", id: "download-survey", disabled: true, onclick: keep }, "Download the survey file");
  show(
    page,
    el(
      "header",
      {},
      el("h1", {}, "Planner"),
      el("p", { class: "faint" }, "Choose what is promised and who is asked; see what the result will be like. Nobody is asked anything here: the crowd is simulated."),
    ),
    el(
      "div",
      { class: "trial" },
      el(
        "div",
        {},
        el("form", { class: "panel", onsubmit: (event) => event.preventDefault(), "aria-label": "The plan" }, [crowd, domain, central, tau, instances].map((one) => one.label), el("label", {}, "Try it on", sample)),
        brief,
      ),
      answer,
      el(
        "form",
        { class: "panel", onsubmit: (event) => event.preventDefault(), "aria-label": "The survey file" },
        el("label", { class: "check" }, mark, "Colour what is signal"),
        el("label", {}, "delta", delta),
        el("label", {}, "Name of the survey", name),
        el("label", {}, "Question", question),
        el("div", { class: "row" }, el("button", { type: "button", id: "fresh", onclick: () => { seed += 1; again(); } }, "Fresh noise"), file),
        file_said,
      ),
    ),
  );
  await again();
}

/// What the slider of values cannot say of itself: that a picture has pixels, and no more of them than it has.
function pixels(asked, { domain, sample }) {
  if (!sample?.truth || domain === asked) return null;
  const { width, height } = sample.truth;
  return domain < asked ? `The picture has ${count(domain)} pixels (${width} × ${height}) at most, and the plan is for as many values.` : `The picture is drawn in ${count(domain)} pixels (${width} × ${height}), and the plan is for as many values.`;
}

/// What matters of a plan, in a line: the page says it again in full, so it is for the eye alone.
function inBrief(plan) {
  const fact = (name, value) => el("span", {}, `${name} `, el("strong", {}, value));
  return [fact("error", `± ${short(plan.standard_error)}`), fact("noise ends at", short(plan.noise_threshold)), fact("whatever fails, in one epoch", `ε ${epsilon(plan.epsilon_floor)} (removal)`)];
}

function planned({ plan, domain, sample }, mark) {
  const backstop = plan.epsilon_fragment !== undefined;
  const local = backstop ? "epsilon_backstop" : "epsilon_local";
  return [
    el(
      "div",
      { class: "grid four figures" },
      figure("standard-error", "error of a count", plan.standard_error, `± ${short(plan.standard_error)}`, "people, one standard error"),
      figure("noise-threshold", "noise ends at", plan.noise_threshold, short(plan.noise_threshold), "people; in 5 % of surveys a value that nobody holds exceeds it"),
      figure("detectable", "smallest count seen", plan.detectable_count, short(plan.detectable_count), "people: told from zero with 95 %"),
      figure("epsilon-floor", `whatever fails: ${local}`, plan.epsilon_floor, epsilon(plan.epsilon_floor), `removal, ${floorLasts(backstop)}; the noise that each device adds by itself`),
    ),
    sample && el("section", { class: "panel", "aria-labelledby": "tried" }, el("h2", { id: "tried" }, "Tried on a sample"), tried(sample, plan, mark)),
    el(
      "section",
      { class: "panel", "aria-labelledby": "costs" },
      el("h2", { id: "costs" }, "What it costs"),
      facts([
        ["values", el("span", {}, el("span", { id: "domain-planned", "data-value": domain }, count(domain)), sample?.truth && ", the pixels of the picture")],
        ["each sends", el("span", { id: "envelopes", "data-value": plan.envelopes_per_instance }, `${plan.envelopes_per_instance} envelopes to each instance, ${bytes(plan.bytes_per_respondent)} in all`)],
        ["processor time", `${short(plan.respondent_ms)} ms of each respondent, ${short(plan.servers_ms)} ms of all servers`],
        ["each fragment", plan.epsilon_fragment && `epsilon_fragment ${epsilon(plan.epsilon_fragment)} (removal)`],
        ["if all are honest, or half", el("span", { id: "if-honest" }, plan.if_honest.map((one) => one.epsilon_central === undefined ? "only what is left whatever fails" : `epsilon_central ${epsilon(one.epsilon_central)}`).join(", or "), " (removal)")],
        ["if they collude", el("span", { id: "collusions" }, collusions({ ...plan, backstop }))],
        ["one liar", el("span", { id: "one-liar", "data-value": plan.one_liar.estimate_up_max }, `can make one count ${tenths(atMost(plan.one_liar.estimate_up_max, 1))} people too high, or ${tenths(atMost(plan.one_liar.estimate_down_max, 1))} too low, with ${count(plan.one_liar.envelopes)} envelopes`)],
      ]),
      el("ul", { class: "points small" }, plan.reasons.map((text) => el("li", {}, text))),
      plan.another_design && message("", el("p", {}, plan.another_design)),
    ),
  ];
}

function tried(sample, plan, mark) {
  const said = el(
    "p",
    {},
    "Off by a root mean square of ",
    el("span", { id: "rmse", "data-value": sample.rmse }, short(sample.rmse)),
    ` people (planned ${short(plan.standard_error)}), ${short(upTo(sample.largest_error, 3))} at most. `,
    `${count(sample.significant)} values stand out of the noise, ${count(sample.significant_held)} of them truly held by someone, of ${count(sample.held)} that are.`,
  );
  if (sample.truth) {
    const picture = (id, title, drawn) => {
      const canvas = el("canvas", { class: "picture", id, role: "img", "aria-label": title });
      draw(canvas, drawn, mark.checked && id === "estimate");
      return el("figure", {}, el("figcaption", {}, title), canvas);
    };
    return [said, el("div", { class: "grid pair" }, picture("truth", "What people hold", sample.truth), picture("estimate", "What the analyzer finds", sample.estimate))];
  }
  const points = sample.ranks.map(([rank, , estimate]) => ({ rank, estimate, significant: estimate > plan.noise_threshold }));
  const truth = sample.ranks.map(([rank, held]) => [rank, held]);
  return [said, el("figure", { id: "ranks" }, rankChart(points, { floor: plan.standard_error, threshold: plan.noise_threshold, truth }), legend("truth", "signal", "noise", "floor", "threshold"))];
}

/// 1, 1.5, 2, 3, 5, 7 in each power of ten.
function logSteps(from, to) {
  const steps = [];
  for (let power = Math.floor(from); power <= to; power++) {
    for (const digit of [1, 1.5, 2, 3, 5, 7]) {
      const value = Number((digit * 10 ** power).toPrecision(3));
      if (value >= 10 ** from * 0.999 && value <= 10 ** to * 1.001) steps.push(value);
    }
  }
  return steps;
}

function range(from, to) {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
