// The two figures of the bound explorer: accessible fraction by length, length by memory vectors.

/** Lengths to draw at: an even grid to 1.5 n*, finer where a curve on a linear axis falls. */
export function lengthsFor(threshold, m) {
  const end = Math.max(1.5 * threshold, 1.5 * m, 4);
  const fall = Array.from({ length: 25 }, (_, k) => k / 8);
  const grid = Array.from({ length: 121 }, (_, k) => (end * k) / 120);
  const all = [...grid, ...fall.map((k) => threshold + k), ...fall.map((k) => m + k)];
  return all.filter((n) => n <= end).sort((a, b) => a - b);
}

function fractionFigure({ settings, result, preset, hard, linear }, ink) {
  const { m, vocab, lengths } = settings;
  const curve = (logs) => (linear ? logs.map((log) => 10 ** log) : logs);
  const hover = "n = %{x:.1f}<br>" + (linear ? "fraction %{y:.3g}" : "log₁₀ fraction %{y:.1f}");
  const line = (name, logs, style) => ({
    x: lengths, y: curve(logs), name, mode: "lines", line: style, hovertemplate: hover,
  });
  const data = [line("memory vectors", result.log10_fraction, { color: ink.accent, width: 3 })];
  if (hard) data.push(line("hard prompts", result.log10_hard_fraction, { color: ink.second, width: 2, dash: "dash" }));
  const lowest = linear ? 0 : Math.min(-1, ...data.flatMap((trace) => trace.y));
  const upright = (name, n, dash) => ({
    x: [n, n], y: [lowest, linear ? 1 : 0], name, mode: "lines", line: { color: ink.muted, width: 1.5, dash },
    hovertemplate: `${name}: ${format(n)} tokens<extra></extra>`,
  });
  data.push(upright("threshold n*", result.threshold, "dot"));
  if (preset) data.push(upright("measured", preset.slope * m, "solid"));
  return {
    data,
    layout: {
      xaxis: { title: "length n of the target (tokens)", range: [0, lengths.at(-1)] },
      yaxis: {
        title: linear ? "accessible fraction" : "log₁₀ fraction",
        range: linear ? [-0.03, 1.06] : [lowest * 1.03, -lowest * 0.04],
      },
    },
    words: `Largest accessible fraction against length: all of them up to n* = ${format(result.threshold)}`
      + ` tokens, then a factor |V| = ${format(vocab)} less for each further token.`,
  };
}

/** Ticks of a logarithmic axis: 1, 2, 5, 10 and so on, or only powers of ten on a long one. */
function ticks(low, high) {
  const steps = high > 300 * low ? [1] : [1, 2, 5];
  const first = Math.floor(Math.log10(low));
  const tens = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, k) => 10 ** (first + k));
  return tens.flatMap((ten) => steps.map((step) => step * ten));
}

function reachFigure({ settings, result, preset, measured, hard }, ink) {
  const own = measured.map((point) => ({ ...point, own: true }));
  const points = [...(preset ? preset.points : []), ...own];
  const end = Math.max(8, settings.m, ...points.map((point) => point.m));
  const ms = Array.from({ length: 33 }, (_, k) => end ** (k / 32));
  const line = (name, slope, style) => ({
    x: ms, y: ms.map((m) => slope * m), name, mode: "lines", line: style,
    hovertemplate: `m = %{x:.1f}<br>${name}: %{y:.1f} tokens<extra></extra>`,
  });
  const data = [
    line("threshold n*", result.slope, { color: ink.accent, width: 3 }),
    line("every bit stored", result.storage_slope, { color: ink.muted, width: 1.5, dash: "dot" }),
  ];
  if (hard) data.push(line("hard prompts", 1, { color: ink.second, width: 2, dash: "dash" }));
  if (preset) data.push(line("measured slope", preset.slope, { color: ink.muted, width: 1.5 }));
  const scatter = (name, some, symbol) => ({
    x: some.map((point) => point.m), y: some.map((point) => point.n), text: some.map((point) => point.label),
    name, mode: "markers", marker: { color: ink.text, size: 9, symbol }, hovertemplate: "%{text}: %{y} tokens<extra></extra>",
  });
  if (points.length > own.length) data.push(scatter("other publications", points.filter((point) => !point.own), "diamond-open"));
  if (own.length) data.push(scatter("measured points", own, "circle"));
  data.push({
    x: [settings.m], y: [result.threshold], name: "now", mode: "markers", showlegend: false,
    marker: { color: ink.accent, size: 11 }, hovertemplate: "now: %{y:.1f} tokens<extra></extra>",
  });
  const tokens = data.flatMap((trace) => trace.y).filter((n) => n > 0);
  return {
    data,
    layout: {
      xaxis: { title: "memory vectors m", type: "log", tickvals: ticks(1, end) },
      yaxis: { title: "tokens", type: "log", tickvals: ticks(Math.min(...tokens), Math.max(...tokens)) },
    },
    words: `Length against the number of memory vectors: the threshold grows by ${format(result.slope)} tokens`
      + ` a vector${preset ? `, the measured length by ${format(preset.slope)}` : ""}.`,
  };
}
