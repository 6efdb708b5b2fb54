// Which page is shown, and what happens when it cannot be.

import { Problem, ask, forgetToken, keepToken, takeToken, token } from "/assets/api.js";
import { el, message, show } from "/assets/dom.js";

const PAGES = {
  "/": ["surveys", "Surveys"],
  "/releases": ["releases", "Releases"],
  "/release": ["release", "Release"],
  "/guarantees": ["guarantees", "Guarantees"],
  "/ledger": ["ledger", "Ledger"],
  "/planner": ["planner", "Planner"],
};

const page = document.getElementById("page");
const forget = document.getElementById("forget");

async function start() {
  const [name, title] = PAGES[location.pathname] ?? PAGES["/"];
  document.title = `${title} · Throng`;
  for (const link of document.querySelectorAll("nav a")) {
    const current = link.dataset.page === name || (name === "release" && link.dataset.page === "releases");
    if (!current) continue;
    link.setAttribute("aria-current", "page");
    link.scrollIntoView({ block: "nearest", inline: "center" });
  }
  takeToken();
  if (!token()) return askForToken();
  forget.hidden = false;
  try {
    const { render } = await import(`/assets/${name}.js`);
    await render(page, new URLSearchParams(location.search), fail);
    page.dataset.ready = "true";
  } catch (error) {
    fail(error);
  }
}

/// Shows what went wrong in the place of the page.
function fail(error) {
  if (error.name === "AbortError") return;
  if (error.kind === "token") {
    forgetToken();
    return askForToken("That is not the token of this analyzer. Look into the file again: it has another one once it was removed and the analyzer started anew.");
  }
  if (!(error instanceof Problem)) console.error(error);
  show(
    page,
    message("bad", el("h2", {}, "This page cannot be shown"), el("p", { id: "error" }, error.message)),
    el("p", {}, el("button", { type: "button", onclick: () => location.reload() }, "Load again")),
  );
  page.dataset.ready = "failed";
}

function askForToken(wrong = null) {
  forget.hidden = true;
  const input = el("input", { type: "password", id: "token", class: "mono", autocomplete: "off", required: true, spellcheck: "false", "aria-invalid": wrong && "true", "aria-describedby": wrong && "error" });
  const enter = async (event) => {
    event.preventDefault();
    keepToken(input.value);
    try {
      await ask("surveys");
      location.reload();
    } catch (error) {
      fail(error);
    }
  };
  show(
    page,
    el("header", {}, el("h1", {}, "The operator's token")),
    el(
      "form",
      { class: "panel narrow", onsubmit: enter },
      el(
        "p",
        {},
        "These pages are for whoever runs the analyzer. The token is in the file ",
        el("code", {}, "operator.token"),
        " of the analyzer's data directory, for its owner alone. It is kept in this tab until you close it.",
      ),
      wrong && message("bad", el("p", { id: "error" }, wrong)),
      el("label", {}, "Token", input),
      el("div", {}, el("button", { class: "first", id: "enter" }, "Show the dashboard")),
    ),
  );
  page.dataset.ready = "token";
  input.focus();
}

forget.addEventListener("click", () => {
  forgetToken();
  location.assign("/");
});

start();
