// The respondent's own page: what was sent, what it spent, what waits, and whether receipts are right.

import { el, facts, figure, message, show } from "./dom.js";
import { atMost, budget, epsilon, factor, count as grouped, promise } from "./format.js";

const content = document.getElementById("content");

/// The bodies that are still to be sent, and all answers, from one look at the state directory.
async function load() {
  try {
    show(content, page(await asked("about.json")));
  } catch (error) {
    show(content, message("bad", el("p", {}, `Your state directory cannot be shown: ${error.message}`)));
  }
}

/// Asks the program on this machine.
async function asked(path, options = {}) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail);
  return said;
}

function page(about) {
  return [ledger(about), waiting(about), answers(about), check(about)];
}

function ledger(about) {
  const full = about.epsilon_left <= 0;
  return el(
    "section",
    { class: "panel", id: "ledger", "aria-labelledby": "ledger-title" },
    el("h2", { id: "ledger-title" }, "What I have spent"),
    el(
      "div",
      { class: "grid" },
      figure("epsilon-spent", "Spent, over all surveys", about.epsilon_spent, epsilon(about.epsilon_spent), "epsilon (removal), whatever fails"),
      figure("epsilon-left", "Left", about.epsilon_left, budget(about.epsilon_left), full ? "no further answer is made" : "epsilon (removal), for further answers", full ? "warn" : "good"),
      figure("epsilon-limit", "My limit", about.epsilon_limit, about.epsilon_limit === null ? "none yet" : budget(about.epsilon_limit), "epsilon (removal); set by --epsilon-limit"),
    ),
    el("progress", { id: "epsilon-part", max: about.epsilon_limit ?? 1, value: about.epsilon_spent, "aria-label": "Part of my limit that is spent" }),
    el(
      "p",
      {},
      "Epsilon counts what your answers could give away if everybody else failed or worked together against you: what you sent is at most ",
      el("strong", { id: "spent-factor" }, `${factor(about.epsilon_spent)} times`),
      " as likely with your true values as if you had nothing to say. That is removal; between two values that you could hold, which is replacement, epsilon is at most twice as large. Smaller is more private; 0 is nothing sent.",
    ),
    about.ledger.length === 0
      ? null
      : el(
          "details",
          {},
          el("summary", {}, "Answer by answer"),
          el(
            "div",
            { class: "scroll" },
            el(
              "table",
              { id: "ledger-lines" },
              el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Survey"), el("th", { scope: "col", class: "number" }, "Epoch"), el("th", { scope: "col", class: "number" }, "It added"), el("th", { scope: "col", class: "number" }, "Spent by then"))),
              el(
                "tbody",
                {},
                about.ledger.map((line) =>
                  el("tr", {}, el("td", {}, line.survey), el("td", { class: "number" }, line.epoch), el("td", { class: "number" }, epsilon(line.epsilon_added)), el("td", { class: "number", "data-value": line.epsilon_spent }, epsilon(line.epsilon_spent))),
                ),
              ),
            ),
          ),
        ),
  );
}

function waiting(about) {
  const bodies = about.answers.flatMap((answer) => answer.bodies.filter((body) => body.fate === "waiting").map((body) => [answer, body]));
  return el(
    "section",
    { class: "panel", id: "waiting", "aria-labelledby": "waiting-title" },
    el("header", {}, el("h2", { id: "waiting-title" }, "What waits to be sent"), el("span", { id: "bodies-waiting", "data-value": bodies.length, class: bodies.length ? "badge run" : "badge good" }, bodies.length ? `${count(bodies.length, "body", "bodies")}` : "Nothing")),
    bodies.length === 0
      ? el("p", {}, "Nothing more will leave this machine until you answer again.")
      : [
          el("p", {}, "Made and sealed, and kept here until its time, which was drawn at random. ", el("code", {}, "throng respond"), " has to run for it to be sent."),
          el("ul", { class: "points" }, bodies.map(([answer, body]) => el("li", {}, `${answer.survey}, instance ${body.instance}: ${grouped(body.bytes)} bytes at ${time(body.send_at)}`))),
        ],
  );
}

function answers(about) {
  const surveys = new Map();
  for (const answer of about.answers) surveys.set(answer.survey_hash, [...(surveys.get(answer.survey_hash) ?? []), answer]);
  return el(
    "section",
    { class: "wide", id: "answers", "aria-labelledby": "answers-title" },
    el("h2", { id: "answers-title" }, "What I answered: ", el("span", { id: "answers-count", "data-value": about.answers.length }, count(about.answers.length, "answer", "answers")), ` to ${count(surveys.size, "survey", "surveys")}`),
    surveys.size === 0 ? el("p", {}, "Nothing was answered yet.") : null,
    [...surveys.values()].map((epochs, index) => survey(epochs, index + 1)),
  );
}

function survey(epochs, number) {
  const one = epochs[0];
  return el(
    "article",
    { class: "panel", id: `survey-${number}`, "aria-labelledby": `survey-${number}-title` },
    el("h3", { id: `survey-${number}-title` }, one.survey),
    one.question ? el("p", {}, `It asks: “${one.question}”`) : null,
    el(
      "p",
      {},
      "Your value does not leave this machine. A randomized version of it was cut into fragments and sealed, one body for each of ",
      `${count(one.bodies.length, "independent instance", "independent instances")}. The first hop of an instance learns that you took part, and when. What is inside, the analyzer alone can open, after the hops have mixed it with that of everybody else.`,
    ),
    el(
      "div",
      { class: "grid" },
      figure(`floor-${number}`, "Whatever fails", one.epsilon_floor, `epsilon ${epsilon(one.epsilon_floor)}`, `removal: at most ${factor(one.epsilon_floor)} times as likely as with nothing to say${one.next_epoch ? ", in one epoch, and in all while your answer stays the same" : ", in one epoch"}`),
      figure(`central-${number}`, "What is released", one.epsilon_central, `epsilon ${epsilon(one.epsilon_central)}`, `removal: of anything that it may show, ${promise(one.epsilon_central, one.delta, "your")}`),
    ),
    el("details", { id: `guarantee-${number}` }, el("summary", {}, "What this rests on, and what is left if it fails"), el("ul", { class: "points" }, one.guarantee.map((one) => el("li", {}, words(one))))),
    epochs.map((answer) => epoch(answer)),
    el("p", { class: "small faint" }, "Survey ", el("code", {}, one.survey_hash)),
  );
}

function epoch(answer) {
  const bytes = answer.bodies.reduce((sum, body) => sum + body.bytes, 0);
  return el(
    "div",
    { class: "stack" },
    el("h4", {}, `Epoch ${answer.epoch}`),
    el("p", { class: "small" }, `From ${time(answer.epoch_start)} to ${time(answer.epoch_end)}: `, el("strong", { "data-bytes": bytes }, `${grouped(bytes)} bytes`), " in all", answer.label ? `, under the label “${answer.label}”` : "", "."),
    el("div", { class: "grid" }, answer.bodies.map(body)),
  );
}

function body(one) {
  const [kind, word] = FATES[one.fate] ?? ["", one.fate];
  return el(
    "div",
    { class: "figure", "data-fate": one.fate },
    el("span", { class: "name" }, `Instance ${one.instance}: ${one.operator}`),
    el("span", { class: "number" }, `${grouped(one.bytes)} bytes`),
    el("span", { class: "note" }, `${count(one.envelopes, "envelope", "envelopes")}; ${one.fate === "waiting" ? "is sent at" : "its time was"} ${time(one.send_at)}`),
    el("span", {}, el("span", { class: `badge ${kind}` }, word)),
    one.fate === "waiting" ? null : el("span", { class: "note" }, sentence(one.fate_in_words)),
    el("details", { class: "small" }, el("summary", {}, "Which bytes"), facts([["SHA-256", el("code", {}, one.sha256)], ["They begin", one.first_bytes ? el("code", {}, one.first_bytes) : "The epoch is over, and they were dropped."]])),
  );
}

function check(about) {
  const verdict = el("div", { id: "receipt-verdict", role: "status" });
  const stored = el("div", { id: "stored-verdict", role: "status" }, storedVerdict(about.receipts));
  const file = el("input", {
    type: "file",
    id: "receipt-file",
    onchange: async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        // No receipt is longer than this, and of a longer file its length says enough.
        const found = await asked("receipt", { method: "POST", body: await chosen.slice(0, 4096).arrayBuffer() });
        verdict.dataset.verdict = found.verdict;
        show(verdict, message(found.verdict === "right" ? "good" : "bad", el("p", {}, el("strong", {}, `${chosen.name}: `), words(found.finding))));
      } catch (error) {
        verdict.dataset.verdict = "failed";
        show(verdict, message("bad", el("p", {}, `It could not be checked: ${error.message}`)));
      }
    },
  });
  const recheck = async () => {
    try {
      show(stored, storedVerdict((await asked("about.json")).receipts));
    } catch (error) {
      show(stored, message("bad", el("p", {}, `They could not be checked: ${error.message}`)));
    }
  };
  return el(
    "section",
    { class: "panel", id: "check", "aria-labelledby": "check-title" },
    el("h2", { id: "check-title" }, "Check a receipt"),
    el("p", {}, "With a receipt a first hop signs that it took your bytes. The check needs no network: this page reads the file and gives it to the program on this machine that serves the page. Nothing is uploaded to anyone."),
    el("label", { for: "receipt-file" }, "A receipt: your own are in outbox/ of the state directory; their names end in .receipt-1, .receipt-2 and so on"),
    file,
    verdict,
    el("h3", {}, "Those that are kept"),
    stored,
    el("div", { class: "row" }, el("button", { type: "button", id: "check-stored", onclick: recheck }, "Check them again")),
  );
}

function storedVerdict(receipts) {
  if (receipts.length === 0) return el("p", { id: "receipts-right", "data-value": 0 }, "There are none yet.");
  const right = receipts.filter((body) => body.receipt && !body.contradiction).length;
  const wrong = receipts.filter((body) => body.contradiction);
  const missing = receipts.length - right - wrong.length;
  return [
    message(wrong.length ? "bad" : right ? "good" : "", el("p", {}, el("strong", { id: "receipts-right", "data-value": right }, `${right} of ${count(receipts.length, "body has", "bodies have")} a receipt that is right.`), missing ? ` ${count(missing, "body has", "bodies have")} none.` : "", wrong.length ? ` ${count(wrong.length, "body has", "bodies have")} one that does not hold.` : "")),
    wrong.length ? el("ul", { class: "points" }, wrong.map((body) => el("li", {}, `${body.survey}, epoch ${body.epoch}, instance ${body.instance}: ${words(body.findings.join("; "))}`))) : null,
  ];
}

/// A number of things.
function count(number, one, many) {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

/// 2026-01-31T12:00:00Z as 2026-01-31 12:00:00 UTC.
function time(text) {
  return text.replace("T", " ").replace("Z", " UTC");
}

/// A text of the program in which times and long numbers are easier to read. Epsilons are bounds, and are rounded up.
function words(text) {
  return text
    .replace(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z/g, "$1 $2 UTC")
    .replace(/\b\d+\.\d{5,}\b/g, (long) => String(atMost(Number(long))));
}

/// A sentence of the program, as one of a page.
function sentence(text) {
  return `${words(text[0].toUpperCase() + text.slice(1))}.`;
}

const FATES = {
  waiting: ["run", "Waits"],
  acknowledged: ["good", "Receipt is right"],
  refused: ["bad", "Refused"],
  late: ["warn", "Too late"],
  damaged: ["bad", "Receipt does not hold"],
};

load();
