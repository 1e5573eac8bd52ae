// Draws the figures of a page: each `.acc-figure` holds its plotly JSON and a place to draw.
// A figure that fails says so in its own place and leaves the others alone.

const STYLE = (node, name, otherwise) =>
  getComputedStyle(node).getPropertyValue(name).trim() || otherwise;

// The theme's colours, for everything plotly does not take from CSS.
function colours(place) {
  const text = STYLE(place, "--pst-color-text-base", "#6b7280");
  const surface = STYLE(place, "--pst-color-surface", "#ffffff");
  const grid = STYLE(place, "--pst-color-border", "rgba(127,127,127,0.3)");
  return { text, surface, grid };
}

// On paper there is no dark page.
const PAPER = { text: "#1f2328", surface: "#ffffff", grid: "#c8ccd1" };

// Nothing is sent anywhere, and a finger scrolls the page instead of drawing a zoom box.
const CONFIG = {
  responsive: true,
  displaylogo: false,
  displayModeBar: "hover",
  showSendToCloud: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};

function themed(layout, { text, surface, grid }) {
  const change = {
    "font.color": text,
    "hoverlabel.bgcolor": surface,
    "hoverlabel.font.color": text,
    "hoverlabel.bordercolor": grid,
    "modebar.bgcolor": "rgba(0,0,0,0)",
    "modebar.color": text,
    "modebar.activecolor": text,
  };
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis\d*$/.test(key)) {
      change[`${key}.gridcolor`] = grid;
      change[`${key}.linecolor`] = grid;
    }
  }
  (layout.sliders || []).forEach((_, i) => {
    change[`sliders[${i}].font.color`] = text;
    change[`sliders[${i}].bgcolor`] = surface;
    change[`sliders[${i}].bordercolor`] = grid;
  });
  (layout.updatemenus || []).forEach((_, i) => {
    change[`updatemenus[${i}].bgcolor`] = surface;
    change[`updatemenus[${i}].font.color`] = text;
    change[`updatemenus[${i}].bordercolor`] = grid;
  });
  return change;
}

function download(figure, name) {
  const link = document.createElement("a");
  link.className = "acc-data";
  link.textContent = "Data of this figure (JSON)";
  link.download = `${name}.json`;
  link.href = URL.createObjectURL(
    new Blob([JSON.stringify(figure)], { type: "application/json" }),
  );
  return link;
}

// A plot with equal scales is about square: on a phone it needs no more height than width.
function fit(place, layout) {
  if (!layout.yaxis?.scaleanchor) return;
  layout.height = Math.min(layout.height || 450, place.clientWidth + 120);
  place.style.minHeight = `${layout.height}px`;
}

async function draw(holder) {
  const place = holder.querySelector(".acc-plot");
  const words = place.textContent;
  try {
    if (!window.Plotly) throw new Error("the drawing script did not load");
    const figure = JSON.parse(holder.querySelector("script").textContent);
    if (!figure.data?.length) throw new Error("it holds no data");
    place.textContent = "";
    fit(place, figure.layout);
    await Plotly.newPlot(place, { ...figure, config: CONFIG });
    const paint = (ink) => Plotly.relayout(place, themed(place.layout, ink));
    const follow = () => paint(colours(place));
    if (matchMedia("(pointer: coarse)").matches) await Plotly.relayout(place, "dragmode", false);
    await follow();
    new MutationObserver(follow).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    window.addEventListener("beforeprint", () => paint(PAPER));
    window.addEventListener("afterprint", follow);
    holder.append(download(figure, holder.id));
    holder.dataset.drawn = "yes";
  } catch (error) {
    place.textContent = `This figure could not be drawn (${error.message}). It shows: ${words}`;
    place.classList.add("acc-broken");
    holder.dataset.drawn = "no";
  }
}

document.querySelectorAll(".acc-figure").forEach(draw);
