// Numbers and times, as people read them.

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

export function epsilon(value) {
  return value === null || value === undefined ? "–" : String(Number(value.toFixed(4)));
}

export function delta(value) {
  const [digits, power] = value.toExponential(1).split("e");
  return digits === "1.0" ? `1e${Number(power)}` : `${digits}e${Number(power)}`;
}

export function percent(share) {
  return `${Number((100 * share).toFixed(1))} %`;
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

/// What an epsilon means: how much more likely anything becomes.
export function factor(epsilon) {
  const times = Math.exp(epsilon);
  if (times >= 1e6) return "more than a million";
  if (times >= 100) return whole.format(Number(times.toPrecision(2)));
  return times >= 10 ? times.toFixed(0) : String(Number(times.toFixed(2)));
}

export function bytes(value) {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} MB`;
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)} kB` : `${value} bytes`;
}
