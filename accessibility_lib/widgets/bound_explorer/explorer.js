// The bound explorer: controls, readouts, one figure.

const READOUTS = [
  ["log_packing", "ln P", "P memory vectors can be told apart"],
  ["slope", "slope C", "tokens per memory vector"],
  ["threshold", "threshold n*", "tokens, with all m memory vectors"],
];
const OF_PRESET = ["d", "r", "eps", "vocab"];

/** Lengths to draw at: an even grid to 1.5 n*, finer where a curve on a linear axis falls. */
export function lengthsFor(threshold, m) {
  const end = Math.max(1.5 * threshold, 1.5 * m, 4);
  const fall = Array.from({ length: 25 }, (_, k) => k / 8);
  const grid = Array.from({ length: 121 }, (_, k) => (end * k) / 120);
  const all = [...grid, ...fall.map((k) => threshold + k), ...fall.map((k) => m + k)];
  return all.filter((n) => n <= end).sort((a, b) => a - b);
}

export function settingsOf(model) {
  return Object.fromEntries(["d", "r", "eps", "vocab", "m"].map((key) => [key, model.get(key)]));
}

function render({ model, el }) {
  const root = element("section", { class: "acc-explorer", "aria-label": "Bound explorer" });
  const values = Object.fromEntries(READOUTS.map(([key]) => [key, element("span")]));
  const readouts = element("dl", { class: "acc-readouts" }, ...READOUTS.map(([key, name, unit]) => {
    const value = element("dd", {}, values[key], element("small", {}, unit));
    return element("div", key === "threshold" ? { class: "acc-main" } : {}, element("dt", {}, name), value);
  }));
  const sentence = element("output", { class: "acc-sentence" });
  let result;

  const { form, show } = controlForm(model, (key, value) => {
    model.set(key, value);
    const preset = model.get("presets")[model.get("preset")];
    if (key === "preset" && preset) OF_PRESET.forEach((name) => model.set(name, preset[name]));
    if (preset && OF_PRESET.some((name) => model.get(name) !== preset[name])) model.set("preset", "");
    model.save_changes();
  });
  const figure = chart(model, root, (ink) => fractionFigure(model, result, ink));

  const update = () => {
    const settings = settingsOf(model);
    const { threshold } = compute({ ...settings, lengths: [] });
    const lengths = lengthsFor(threshold, settings.m);
    result = { lengths, ...compute({ ...settings, lengths }) };
    for (const [key, node] of Object.entries(values)) {
      node.textContent = format(result[key]);
      node.dataset.quantity = key;
      node.dataset.value = String(result[key]);
    }
    sentence.textContent = inWords(model, result);
    show();
    figure.draw();
  };
  root.append(form, readouts, sentence, figure.node);
  el.append(root);
  model.on("change", update);
  update();
  return () => {
    model.off("change", update);
    figure.stop();
  };
}

/** What the numbers say, read out by a screen reader when they change. */
function inWords(model, { threshold, slope }) {
  const m = model.get("m");
  const tens = power("10", Math.floor(100 * Math.log10(model.get("vocab"))));
  const preset = model.get("presets")[model.get("preset")];
  const vectors = m === 1 ? "One memory vector reaches" : `${format(m)} memory vectors reach`;
  const measured = preset
    ? ` Measured on ${preset.label}: ${format(preset.slope * m)} tokens; the bound is ${format(slope / preset.slope, 3)} times that. ${preset.note}`
    : "";
  return `${vectors} at most n* = ${format(threshold)} tokens. A hundred tokens further, at most one`
    + ` target in ${tens} is accessible.${measured}`;
}

function fractionFigure(model, result, ink) {
  const linear = model.get("scale") === "linear";
  const curve = (logs) => (linear ? logs.map((log) => 10 ** log) : logs);
  const hover = "n = %{x:.1f}<br>" + (linear ? "fraction %{y:.3g}" : "log₁₀ fraction %{y:.1f}");
  const line = (name, logs, style) => ({
    x: result.lengths, y: curve(logs), name, mode: "lines", line: style, hovertemplate: hover,
  });
  const data = [line("memory vectors", result.log10_fraction, { color: ink.accent, width: 3 })];
  if (model.get("hard")) {
    data.push(line("hard prompts", result.log10_hard_fraction, { color: ink.second, width: 2, dash: "dash" }));
  }
  const lowest = linear ? 0 : Math.min(...data.flatMap((trace) => trace.y));
  const upright = (name, n, dash) => ({
    x: [n, n], y: [lowest, linear ? 1 : 0], name, mode: "lines", line: { color: ink.muted, width: 1.5, dash },
    hovertemplate: `${name}: ${format(n)} tokens<extra></extra>`,
  });
  data.push(upright("threshold n*", result.threshold, "dot"));
  const preset = model.get("presets")[model.get("preset")];
  if (preset) data.push(upright("measured", preset.slope * model.get("m"), "solid"));
  return {
    data,
    layout: {
      xaxis: { title: { text: "length n of the target (tokens)" }, range: [0, result.lengths.at(-1)] },
      yaxis: {
        title: { text: linear ? "accessible fraction" : "log₁₀ fraction" },
        range: linear ? [-0.03, 1.06] : [lowest * 1.03, -lowest * 0.04],
      },
    },
    words: `Largest accessible fraction against length: all of them up to n* = ${format(result.threshold)}`
      + ` tokens, then a factor |V| = ${format(model.get("vocab"))} less for each further token.`,
  };
}

export default { render };
