// Numbers and times, as people read them. What bounds something is rounded to the weaker promise: up where it says "at most",
// down where it says "at least".

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fixed = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export function count(value) {
  return whole.format(value);
}

/// As many digits as say something.
export function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 100) return whole.format(value);
  if (size >= 0.001 || size === 0) return String(Number(value.toPrecision(3)));
  return value.toExponential(1);
}

/// For columns, in which the points stand below each other.
export function tenths(value) {
  return fixed.format(value);
}

/// To so many places, and never below the value.
export function atMost(value, places = 4) {
  const near = Number(value.toFixed(places));
  return near >= value ? near : Number((near + 10 ** -places).toFixed(places));
}

/// To so many places, and never above the value.
export function atLeast(value, places = 4) {
  return -atMost(-value, places) + 0;
}

/// To so many digits, and never below the value, which is above 0.
export function upTo(value, digits) {
  const near = Number(value.toPrecision(digits));
  if (near >= value) return near;
  const unit = 10 ** (Number(value.toExponential().split("e")[1]) - digits + 1);
  return Number((near + unit).toPrecision(digits));
}

/// A privacy loss: at most this.
export function epsilon(value) {
  return value === null || value === undefined ? "–" : String(atMost(value));
}

/// What is left of a budget: at least this.
export function budget(value) {
  return value === null || value === undefined ? "–" : String(atLeast(value));
}

/// The allowance beside an epsilon: at most this. It is not the chance that the loss is larger, which is more.
export function delta(value) {
  if (value === 0) return "0";
  const [digits, power] = upTo(value, 2).toExponential(1).split("e");
  return digits.endsWith(".0") ? `${digits[0]}e${Number(power)}` : `${digits}e${Number(power)}`;
}

/// The same as one in so many: at most this, so of no more than so many.
export function oneIn(delta) {
  let many = Math.round(1 / delta);
  while (1 / many < delta) many -= 1;
  return `1 in ${whole.format(many)}`;
}

/// What (epsilon, delta) says of anything that may be seen, with whose answer and without it.
export function promise(epsilon, delta, whose) {
  return `the probability with ${whose} answer is at most ${factor(epsilon)} times that without it, plus ${oneIn(delta)}`;
}

/// A share that a survey states, with all of its digits.
export function percent(share) {
  return `${Number((100 * share).toPrecision(12))} %`;
}

export function time(seconds) {
  return new Date(1000 * seconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/// How long something lasts.
export function span(seconds) {
  const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, name] = units.find(([size]) => seconds >= size) ?? [1, "second"];
  const number = Math.round(seconds / size);
  return `${number} ${name}${number === 1 ? "" : "s"}`;
}

/// What an epsilon means: how many times as likely anything becomes, at most.
export function factor(epsilon) {
  if (epsilon === 0) return "1";
  // The exponential itself may be a little too small.
  const times = Math.exp(epsilon) * (1 + 1e-14);
  return times < 1e15 ? upTo(times, 3).toLocaleString("en") : `e^${atMost(epsilon)}`;
}

/// For how long what is left whatever fails holds. Without a backstop each epoch spends it again; with one, answers that change
/// spend more.
export function floorLasts(backstop) {
  return backstop ? "in one epoch, and over all while an answer stays the same" : "in each epoch";
}

/// What is left of a guarantee if instances work together with the analyzer, which has the release; and where that is less,
/// what the fragments say by themselves that more and more instances tie to somebody.
export function collusions({ backstop, epsilon_local, epsilon_if_instances_compromised: tied, epsilon_with_release_if_instances_compromised }) {
  const many = tied.length;
  // A release of an older analyzer has its floor alone.
  const left = epsilon_with_release_if_instances_compromised ?? tied.map(() => epsilon_local);
  const floor = `the analyzer, which has the release, and ${many === 1 ? "the instance" : `1 or more of ${many} instances`}: at most epsilon ${epsilon(Math.max(...left))} (removal), ${floorLasts(backstop)}`;
  if (tied.every((value, at) => value >= left[at])) return floor;
  const alone = tied.map((value, at) => `${at === 0 ? "at most epsilon " : ""}${epsilon(value)} with ${at + 1}${at === 0 ? ` of ${many}` : ""}`);
  return `${floor}. Only the fragments that they then know to be somebody's, of one epoch: ${alone.join(", ")}`;
}

export function bytes(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} MB`;
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)} kB` : `${value} bytes`;
}
