// The bound explorer: controls, readouts, one figure.

const EXACT = (value) => format(value);
const TENS = (value) => (value < 6 ? format(10 ** value) : `about ${power("10", Math.round(value))}`);

// Quantity, name, unit, how it is written, and the control it belongs to, if it is not always shown.
const READOUTS = [
  ["threshold", "threshold n*", "tokens, with all m memory vectors", EXACT],
  ["slope", "slope C", "tokens per memory vector", EXACT],
  ["log_packing", "ln P", "P memory vectors can be told apart", EXACT],
  ["eps", "ε in use", "", (value) => (value === null ? "none" : format(value)), "precision"],
  ["storage_slope", "every bit stored", "tokens per memory vector", EXACT, "dtype"],
  ["log10_any_length", "any prompt length", "tokens, Corollary 4.10", TENS, "eps_w"],
  ["eps_w_for_length", "ε_W that gives it", "for a threshold of that length", EXACT, "reach_n"],
];
const OF_PRESET = ["d", "r", "eps", "vocab", "angle", "share"];
const OF_COMPUTE = [
  "d", "r", "eps", "vocab", "m", "support", "angle", "share", "axis", "gain", "profile",
  "precision", "eps_w", "reach_n", "factor",
];

function settingsOf(model) {
  const settings = Object.fromEntries(OF_COMPUTE.map((key) => [key, model.get(key)]));
  return { ...settings, grid: model.get("_grids")[model.get("dtype")], lengths: [] };
}

/** Settings, result and what the figures and words need beside them; throws what to tell a reader. */
function stateOf(model) {
  const settings = settingsOf(model);
  const { threshold } = compute(settings);
  settings.lengths = lengthsFor(threshold, settings.m);
  return {
    settings,
    result: compute(settings),
    preset: model.get("_presets")[model.get("preset")],
    measured: model.get("measured"),
    hard: model.get("hard"),
    linear: model.get("scale") === "linear",
  };
}

function render({ model, el }) {
  const root = element("section", { class: "acc-explorer", "aria-label": "Bound explorer" });
  const shown = READOUTS.filter(([, , , , control]) => !control || model.get("controls").includes(control));
  const values = Object.fromEntries(shown.map(([key]) => [key, element("span", { "data-quantity": key })]));
  const readouts = element("dl", { class: "acc-readouts" }, ...shown.map(([key, name, unit]) => {
    const value = element("dd", {}, values[key], element("small", {}, unit));
    return element("div", key === "threshold" ? { class: "acc-main" } : {}, element("dt", {}, name), value);
  }));
  const sentence = element("output", { class: "acc-sentence" });
  let state = null;

  const { form, show } = controlForm(model, (key, value) => {
    model.set(key, value);
    const preset = model.get("_presets")[model.get("preset")];
    if (key === "preset" && preset) OF_PRESET.forEach((name) => model.set(name, preset[name]));
    if (preset && OF_PRESET.some((name) => model.get(name) !== preset[name])) model.set("preset", "");
    model.save_changes();
  });
  const figure = chart(model, root, (ink) =>
    state && (model.get("view") === "reach" ? reachFigure : fractionFigure)(state, ink));

  const update = () => {
    let words;
    try {
      state = stateOf(model);
      words = inWords(state);
    } catch (error) {
      state = null;
      words = error.message;
    }
    for (const [key, , , write] of shown) {
      const value = state ? state.result[key] : null;
      values[key].textContent = state ? write(value) : "–";
      values[key].dataset.value = String(value);
    }
    sentence.textContent = words;
    sentence.classList.toggle("acc-message", !state);
    show();
    figure.draw();
  };
  const results = element("div", { class: "acc-results" }, readouts, sentence, figure.node);
  const beside = model.get("controls").length > 4 ? " acc-beside" : "";
  root.append(element("div", { class: `acc-body${beside}` }, form, results));
  el.append(root);
  model.on("change", update);
  update();
  return () => {
    model.off("change", update);
    figure.stop();
  };
}

/** What the numbers say; a screen reader reads it out when they change. */
function inWords({ settings, result, preset }) {
  const { m, vocab } = settings;
  const tens = power("10", Math.floor(100 * Math.log10(vocab)));
  const vectors = m === 1 ? "one memory vector" : `${format(m)} memory vectors`;
  const parts = [
    `Beyond n* = ${format(result.threshold)} tokens, ${vectors} cannot name every target.`,
    `A hundred tokens further, at most one target in ${tens} is accessible.`,
  ];
  if (!result.rigorous) parts.push("This count is heuristic: an ℓ∞ count times an ℓ2 share of directions.");
  if (preset) {
    const ofModel = ["ball", "cone", "box"].includes(settings.support);
    parts.push(`Measured on ${preset.label}: ${format(preset.slope * m)} tokens`, ofModel
      ? `(the bound is ${format(result.slope / preset.slope, 3)} times that). ${preset.note}`
      : "(the size of this support is not that model's).");
  }
  return parts.join(" ");
}

export default { render };
