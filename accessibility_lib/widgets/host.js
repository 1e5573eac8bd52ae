// What every explorer shares. This text stands in front of the explorer's own: together they are
// one ES module, loaded by anywidget in JupyterLab and inlined in a published page.

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A power with its exponent raised: 10⁴⁷⁰. */
function power(base, exponent) {
  return base + [...String(exponent)].map((sign) => SUPERSCRIPT[sign]).join("");
}

const isSmallPowerOfTwo = (value) => value > 0 && value < 0.1 && Number.isInteger(Math.log2(value));

/** A number for a reader: 2,231.9 or 3.2 × 10⁻⁹; a small power of two as 2⁻¹⁰. */
export function format(value, digits = 5) {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
  if (isSmallPowerOfTwo(value)) return power("2", Math.log2(value));
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e9) {
    return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, 1 + Math.floor(Math.log10(size))) });
  }
  const [mantissa, tens] = value.toExponential(2).split("e");
  return `${Number(mantissa)} × ${power("10", Number(tens))}`;
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// ---- controls ----------------------------------------------------------------------------------

/** The nearest admissible value (`now` for what is no number) and, if that is not what was typed, a
    sentence that says so. */
export function admit(field, typed, now) {
  if (!Number.isFinite(typed)) return { value: now, note: `That is not a number; this stays at ${format(now)}.` };
  const low = format(field.low), high = format(field.high);
  if (typed < field.low) return { value: field.low, note: `Set to ${low}: this goes from ${low} to ${high}.` };
  if (typed > field.high) return { value: field.high, note: `Set to ${high}: this goes from ${low} to ${high}.` };
  const value = field.whole ? Math.round(typed) : typed;
  return value === typed ? { value, note: "" } : { value, note: `Set to ${format(value)}: this is a whole number.` };
}

function nearest(stops, value) {
  let best = 0;
  stops.forEach((stop, index) => {
    if (Math.abs(Math.log(stop / value)) < Math.abs(Math.log(stops[best] / value))) best = index;
  });
  return best;
}

function scaleControl(field, id, commit) {
  const slider = element("input", { type: "range", id, min: 0, max: field.stops.length - 1, step: 1 });
  const exact = element("input", {
    type: "number", step: "any", min: field.low, max: field.high, autocomplete: "off",
    "aria-label": `${field.label}: exact value`, "aria-describedby": `${id}-note`,
  });
  const note = element("p", { class: "acc-note", id: `${id}-note`, role: "status" });
  slider.addEventListener("input", () => {
    note.textContent = "";
    commit(field.stops[Number(slider.value)]);
  });
  // While typing, what is admissible takes effect; what is not is put right when the typing ends.
  exact.addEventListener("input", () => {
    const { value, note: problem } = admit(field, exact.valueAsNumber, shown);
    note.textContent = "";
    if (!problem) commit(value);
  });
  const settle = () => {
    if (exact.valueAsNumber === shown) return;
    const { value, note: problem } = admit(field, exact.valueAsNumber, shown);
    note.textContent = problem;
    exact.value = String(value);
    commit(value);
  };
  exact.addEventListener("change", settle);
  // JupyterLab prevents what Enter does by default, and with it the change event.
  exact.addEventListener("keydown", (event) => { if (event.key === "Enter") settle(); });
  let shown;
  const show = (value) => {
    shown = value;
    slider.value = String(nearest(field.stops, value));
    slider.setAttribute("aria-valuetext", format(value));
    round.textContent = isSmallPowerOfTwo(value) ? format(value) : "";
    if (exact.valueAsNumber !== value) exact.value = String(value);
  };
  const round = element("span", { class: "acc-round" }); // 0.0009765625 is easier to know as 2⁻¹⁰
  const head = element("div", { class: "acc-head" }, element("label", { for: id }, field.label), round, exact);
  return { show, node: element("div", { class: "acc-control" }, head, ...hintOf(field, slider), slider, note) };
}

/** The line that explains a field, tied to its input; none where there is nothing to explain. */
function hintOf(field, input) {
  if (!field.hint) return [];
  input.setAttribute("aria-describedby", `${input.id}-hint`);
  return [element("small", { id: `${input.id}-hint` }, field.hint)];
}

function choiceControl(field, id, commit) {
  const select = element("select", { id });
  for (const [value, text] of field.options) select.append(element("option", { value }, text));
  select.addEventListener("change", () => commit(select.value));
  const label = element("label", { for: id }, field.label);
  const node = element("div", { class: "acc-control" }, label, ...hintOf(field, select), select);
  return { node, show: (value) => { select.value = value; } };
}

function switchControl(field, id, commit) {
  const box = element("input", { type: "checkbox", id });
  box.addEventListener("change", () => commit(box.checked));
  const label = element("label", { for: id }, box, " ", field.label);
  const node = element("div", { class: "acc-control" }, label, ...hintOf(field, box));
  return { node, show: (value) => { box.checked = value; } };
}

const CONTROL = { scale: scaleControl, choice: choiceControl, switch: switchControl };
let rendered = 0; // ids stay apart when one explorer is shown twice on a page

/** A form of the model's controls; `edit(key, value)` is called when the reader changes one. */
function controlForm(model, edit) {
  const fields = model.get("_fields");
  const prefix = `${model.get("name")}-${rendered++}`;
  const parts = Object.fromEntries(model.get("controls").map((key) => [
    key, CONTROL[fields[key].kind](fields[key], `${prefix}-${key}`, (value) => edit(key, value)),
  ]));
  const form = element("form", { class: "acc-controls" });
  form.addEventListener("submit", (event) => event.preventDefault());
  const groups = new Set(Object.keys(parts).map((key) => fields[key].group));
  for (const group of groups) {
    const legend = groups.size > 1 ? [element("legend", {}, group)] : [];
    const members = Object.keys(parts).filter((key) => fields[key].group === group);
    form.append(element("fieldset", {}, ...legend, ...members.map((key) => parts[key].node)));
  }
  // JupyterLab takes the arrow keys from a slider for its own shortcuts unless it is told not to.
  form.querySelectorAll("input, select").forEach((node) => { node.dataset.lmSuppressShortcuts = "true"; });
  const show = () => Object.entries(parts).forEach(([key, part]) => {
    const { when } = fields[key];
    part.node.hidden = Boolean(when) && !when[1].includes(model.get(when[0]));
    part.show(model.get(key));
  });
  return { form, show };
}

// ---- figures -----------------------------------------------------------------------------------

/** Plotly: the page's own, or in JupyterLab the bundle that Python sends. Null if there is none. */
function plotly(model) {
  if (globalThis.Plotly) return Promise.resolve(globalThis.Plotly);
  const asked = Symbol.for("accessibility_lib.plotly");
  globalThis[asked] ??= model.standalone ? afterLoading() : fromKernel(model);
  return globalThis[asked];
}

async function afterLoading() {
  if (document.readyState !== "complete") {
    await new Promise((go) => addEventListener("load", go, { once: true }));
  }
  return globalThis.Plotly ?? null;
}

function fromKernel(model) {
  return new Promise((go) => {
    const receive = (message, buffers) => {
      if (message.kind !== "plotly") return;
      model.off("msg:custom", receive);
      const url = URL.createObjectURL(new Blob([buffers[0]], { type: "text/javascript" }));
      const script = element("script", { src: url });
      script.onload = () => go(globalThis.Plotly ?? null);
      script.onerror = () => go(null);
      document.head.append(script);
    };
    model.on("msg:custom", receive);
    model.send({ kind: "plotly" });
  });
}

/** The style's colours as rgb(), which is what Plotly reads. */
function colours(root) {
  const probe = element("span");
  root.append(probe);
  const names = ["text", "muted", "rule", "accent", "second", "surface"];
  const found = Object.fromEntries(names.map((name) => {
    probe.style.color = `var(--acc-${name})`;
    return [name, getComputedStyle(probe).color];
  }));
  probe.remove();
  return found;
}

/** A figure that redraws with the theme and its width: `draw()` asks `figure(colours)` for
    {data, layout, words} and shows it; without Plotly it says so in words. */
function chart(model, root, figure) {
  const canvas = element("div", { class: "acc-chart", role: "img" });
  const message = element("p", { class: "acc-message", hidden: "" });
  const node = element("div", { class: "acc-figure-box" }, canvas, message);
  let waiting = false;

  const tell = (words) => {
    message.textContent = words;
    message.hidden = !words;
    canvas.hidden = Boolean(words);
  };
  const now = async () => {
    waiting = false;
    try {
      const ink = colours(root);
      const drawing = figure(ink);
      if (!drawing) return tell("There is no figure for these settings.");
      const { data, layout, words } = drawing;
      canvas.setAttribute("aria-label", words);
      const library = await plotly(model);
      if (!library) return tell(`The figure needs Plotly, which did not load. ${words}`);
      await library.react(canvas, data, style(layout, ink), { displayModeBar: false });
      tell("");
      canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
    } catch (error) {
      tell(`The figure could not be drawn (${error.message}); the numbers above hold.`);
    }
  };
  const draw = () => {
    if (!waiting) requestAnimationFrame(now);
    waiting = true;
  };
  const themes = new MutationObserver(draw);
  for (const host of [document.documentElement, document.body]) {
    themes.observe(host, { attributeFilter: ["data-theme", "data-jp-theme-light", "data-jp-theme-name", "style"] });
  }
  let width = 0;
  const sizes = new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) > 1 && canvas.dataset.drawn) {
      globalThis.Plotly?.Plots.resize(canvas);
    }
    width = entry.contentRect.width;
  });
  sizes.observe(node);
  const stop = () => {
    themes.disconnect();
    sizes.disconnect();
  };
  return { node, draw, stop };
}

function style(layout, ink) {
  const axis = { gridcolor: ink.rule, linecolor: ink.muted, zerolinecolor: ink.rule, automargin: true, exponentformat: "power", separatethousands: true, minexponent: 7 };
  const withTitle = ({ title, ...rest }) => ({ ...axis, title: { text: title, font: { size: 13 } }, ...rest });
  return {
    autosize: true, height: 340, margin: { l: 56, r: 12, t: 12, b: 48 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink.text, size: 13, family: "system-ui, sans-serif" },
    hoverlabel: { bgcolor: ink.surface, bordercolor: ink.muted, font: { color: ink.text } },
    separators: ".,", legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    ...layout,
    xaxis: withTitle(layout.xaxis), yaxis: withTitle(layout.yaxis),
  };
}

// ---- the other host ----------------------------------------------------------------------------

/** The part of anywidget's model that a page without a kernel can do. */
class Page {
  standalone = true;
  #state;
  #listeners = {};
  constructor(state) { this.#state = { ...state }; }
  get(key) { return this.#state[key]; }
  set(key, value) {
    if (this.#state[key] === value) return;
    this.#state[key] = value;
    for (const event of [`change:${key}`, "change"]) this.#listeners[event]?.forEach((go) => go());
  }
  on(event, go) { (this.#listeners[event] ??= new Set()).add(go); }
  off(event, go) { this.#listeners[event]?.delete(go); }
  save_changes() {}
  send() {}
}

/** Show the explorer in a published page, over the words that stand there. */
function standalone(el, state) {
  el.replaceChildren();
  render({ model: new Page(state), el });
}
