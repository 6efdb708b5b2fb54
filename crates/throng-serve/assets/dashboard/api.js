// Asking the server. The token is kept for this tab alone, and goes into a header, never into an address that is sent.

import { el, message, show } from "/assets/dom.js";

const KEY = "throng-operator-token";

/// What went wrong: `kind` is "token", "gone", "refused", "too-much", or the name that the server gives.
export class Problem extends Error {
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

export function token() {
  return sessionStorage.getItem(KEY);
}

export function keepToken(text) {
  sessionStorage.setItem(KEY, text.trim());
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
}

/// Takes the token from an address that ends in #token=..., and removes it there. A token is anything that can be printed; what
/// no address can have is percent-encoded in it.
export function takeToken() {
  const found = /^#token=([!-~]+)$/.exec(location.hash);
  if (!found) return;
  try {
    keepToken(decodeURIComponent(found[1]));
  } catch {
    // A percent sign that encodes nothing is one of the token.
    keepToken(found[1]);
  }
  history.replaceState(null, "", location.pathname + location.search);
}

/// What the server answers to GET, as JSON. Parameters that are null are left out.
export async function ask(path, parameters = {}, signal = undefined) {
  return (await get(path, parameters, signal)).json();
}

/// Has the browser keep a file, under the name that the server gives it.
export async function download(path, parameters) {
  const answer = await get(path, parameters);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = /filename="([\w.-]+)"/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? "";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/// Asks again and again, and only the last question counts: what is asked before the last answer has come aborts it.
export function lastOnly() {
  let last = null;
  return (path, parameters) => {
    last?.abort();
    last = new AbortController();
    return ask(path, parameters, last.signal);
  };
}

/// What to do when a part of a page fails: it is said in its place. Without the token or the analyzer the page as a whole fails,
/// and a question that another one has replaced does not.
export function partly(place, fail) {
  return (error) => {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem) || error.kind === "token" || error.kind === "gone") fail(error);
    else show(place, message("bad", el("p", {}, error.message)));
  };
}

async function get(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  // A header takes no other letters, and no token has any.
  if (!/^[!-~]*$/.test(token() ?? "")) throw new Problem("token", "This is no token: it has letters that none has.");
  let answer;
  try {
    answer = await fetch(`/api/${path}${query ? "?" + query : ""}`, {
      headers: { Authorization: `Bearer ${token() ?? ""}` },
      signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("gone", "The analyzer does not answer. See whether `throng serve analyzer` still runs on its machine, and whether your tunnel to it is open; then load this page again.");
  }
  if (answer.ok) return answer;
  let problem = {};
  try {
    problem = await answer.json();
  } catch {
    // An answer that is no problem+json is known by its status.
  }
  const kind = answer.status === 401 ? "token" : String(problem.type ?? "").replace("urn:throng:error:", "") || "unnamed";
  throw new Problem(kind, problem.detail ?? `The analyzer answered ${answer.status}.`);
}
