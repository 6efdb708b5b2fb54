// Charts, drawn as SVG in the colours of the page, as wide as there is room.

import { el, svg } from "/assets/dom.js";
import { short } from "/assets/format.js";

/// A chart that is drawn again when its width changes: `draw(width)` returns an SVG.
export function responsive(draw) {
  const frame = el("div", {});
  let drawn = 0;
  const redraw = () => {
    const width = Math.max(300, Math.round(frame.clientWidth || 700));
    if (Math.abs(width - drawn) < 4) return;
    drawn = width;
    frame.replaceChildren(draw(width));
  };
  new ResizeObserver(redraw).observe(frame);
  return frame;
}

/// Ranked bars with their intervals; where noise ends is a line, and what is below it is gray.
export function bars(lines, { floor, threshold, confidence }) {
  return responsive((width) => {
    const wide = width > 560;
    const [left, right, top, row] = [wide ? 150 : 84, 14, 34, 24];
    const height = top + lines.length * row + 26;
    const most = Math.max(threshold * 1.15, ...lines.map((line) => line.high));
    const least = Math.min(0, ...lines.map((line) => Math.max(line.low, -threshold)));
    const x = (count) => left + ((Math.max(count, least) - least) / (most - least)) * (width - left - right);
    const bottom = height - 26;
    const ticks = steps(least, most, wide ? 6 : 3);
    return svg(
      "svg",
      { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `The ${lines.length} largest estimates with ${100 * confidence} % intervals; noise ends at ${short(threshold)}` },
      svg("rect", { class: "shade", x: x(least), y: top - 6, width: x(threshold) - x(least), height: bottom - top + 6 }),
      ticks.map((tick) => [svg("line", { class: "tick", x1: x(tick), x2: x(tick), y1: top - 6, y2: bottom }), svg("text", { x: x(tick), y: height - 9, "text-anchor": "middle" }, short(tick))]),
      lines.map((line, at) => {
        const y = top + at * row;
        const kind = line.significant ? "signal" : "noise";
        const bar = Math.max(0, x(Math.max(line.estimate, 0)) - x(0));
        return svg(
          "g",
          { "data-value": line.estimate, "data-name": line.name },
          svg("title", {}, `${line.name}: ${short(line.estimate)}, ${100 * confidence} % between ${short(line.low)} and ${short(line.high)}${line.significant ? "" : " (noise)"}`),
          svg("text", { class: "name", x: left - 8, y: y + 13, "text-anchor": "end" }, cut(line.name, wide ? 22 : 11)),
          svg("rect", { class: kind, x: x(0), y: y + 3, width: bar, height: row - 10, rx: 2 }),
          svg("path", { class: "whisker", d: `M${x(line.low)} ${y + 10}H${x(line.high)}M${x(line.low)} ${y + 6}v8M${x(line.high)} ${y + 6}v8` }),
        );
      }),
      svg("line", { class: "floor", x1: x(floor), x2: x(floor), y1: top - 6, y2: bottom }),
      svg("line", { class: "threshold", x1: x(threshold), x2: x(threshold), y1: top - 12, y2: bottom }),
      svg("text", { class: "threshold", x: x(threshold) + (x(threshold) > width / 2 ? 0 : 5), y: top - 17, "text-anchor": x(threshold) > width / 2 ? "end" : "start" }, `noise ends at ${short(threshold)}`),
    );
  });
}

/// Counts against their rank, both on log axes. Points are { rank, estimate, significant }, truth pairs of rank and count.
export function rankChart(points, { floor, threshold, truth = [] }) {
  return responsive((width) => {
    const wide = width > 560;
    const height = Math.round(Math.min(420, Math.max(260, width * 0.55)));
    const [left, right, top, bottom] = [wide ? 66 : 52, 12, 16, height - 40];
    const ranks = Math.max(10, ...points.map((point) => point.rank));
    const least = Math.max(Math.min(floor, threshold) / 10, 1e-9);
    const most = Math.max(threshold, ...points.map((point) => point.estimate), ...truth.map(([, count]) => count)) * 1.3;
    const x = (rank) => left + (Math.log(rank) / Math.log(ranks)) * (width - left - right);
    const y = (count) => bottom - (Math.log(Math.max(count, least) / least) / Math.log(most / least)) * (bottom - top);
    const shown = truth.filter(([, count]) => count > least);
    return svg(
      "svg",
      { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Estimates by rank on log axes; noise floor ${short(floor)}, noise ends at ${short(threshold)}` },
      svg("rect", { class: "shade", x: left, y: y(threshold), width: width - left - right, height: bottom - y(threshold) }),
      powers(1, ranks).map((tick) => [svg("line", { class: "tick", x1: x(tick), x2: x(tick), y1: top, y2: bottom }), svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, short(tick))]),
      powers(least, most).map((tick) => [svg("line", { class: "tick", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }), svg("text", { x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, short(tick))]),
      svg("path", { class: "axis", d: `M${left} ${top}V${bottom}H${width - right}` }),
      svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "rank of the value"),
      svg("text", { x: width - right - 4, y: top + 10, "text-anchor": "end" }, "estimate, in people"),
      shown.length > 1 && svg("path", { class: "truth", d: "M" + shown.map(([rank, count]) => `${x(rank).toFixed(1)} ${y(count).toFixed(1)}`).join("L") }),
      points
        .filter((point) => point.estimate > least)
        .map((point) => svg("circle", { class: point.significant ? "signal" : "noise", cx: x(point.rank).toFixed(1), cy: y(point.estimate).toFixed(1), r: points.length > 400 ? 1.8 : 2.8 })),
      svg("line", { class: "floor", x1: left, x2: width - right, y1: y(floor), y2: y(floor) }),
      svg("text", { class: "floor", x: left + 6, y: y(floor) + 15 }, `noise floor ${short(floor)}`),
      svg("line", { class: "threshold", x1: left, x2: width - right, y1: y(threshold), y2: y(threshold) }),
      svg("text", { class: "threshold", x: left + 6, y: y(threshold) - 6 }, `noise ends at ${short(threshold)}`),
    );
  });
}

/// What the colours mean.
export function legend(...kinds) {
  const words = { signal: "signal", noise: "noise", truth: "truth", floor: "noise floor (one standard error of a value that nobody holds)", threshold: "where noise ends, over all values" };
  return el("div", { class: "legend" }, kinds.map((kind) => el("span", { class: kind }, words[kind])));
}

function cut(text, length) {
  return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

/// Round numbers between two ends.
function steps(least, most, wanted) {
  const raw = (most - least) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw) ?? raw;
  const ticks = [];
  for (let tick = Math.ceil(least / step) * step; tick <= most; tick += step) ticks.push(Math.abs(tick) < step / 1e6 ? 0 : tick);
  return ticks;
}

function powers(least, most) {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(least) - 1e-9); 10 ** power <= most; power++) ticks.push(10 ** power);
  return ticks;
}
