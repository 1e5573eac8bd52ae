// The closed forms, as accessibility_lib.supports, .precision and .bounds have them, in logarithms.

const logAddExp = (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** ln(1 + width/gap), also where the quotient overflows. */
function logSteps(width, gap, ratio = width / gap) {
  return Number.isFinite(ratio) ? Math.log1p(ratio) : Math.log(width) - Math.log(gap);
}

// ---- gamma and beta ----------------------------------------------------------------------------

/** ln Γ(x) for x > 0: Stirling's series, after the recurrence has made x large enough. */
export function logGamma(x) {
  let product = 1;
  while (x < 15) product *= x++;
  const y = 1 / (x * x);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

/** ln(Γ(a + 1/2) / Γ(a)) without the cancellation of two large logarithms. */
function logGammaHalfStep(a) {
  let product = 1;
  while (a < 30) {
    product *= a / (a + 0.5);
    a += 1;
  }
  const y = 1 / (a * a);
  const series = (-1 / 8 + y * (1 / 192 - y * (1 / 640 - y * (17 / 14336)))) / a;
  return 0.5 * Math.log(a) + series + Math.log(product);
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(a, b, x) {
  const away = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1, d = 1 / away(1 - ((a + b) * x) / (a + 1)), product = d;
  for (let k = 1; k < 10000; k++) {
    const even = (k * (b - k) * x) / ((a + 2 * k - 1) * (a + 2 * k));
    const odd = (-(a + k) * (a + b + k) * x) / ((a + 2 * k) * (a + 2 * k + 1));
    let step = 1;
    for (const term of [even, odd]) {
      d = 1 / away(1 + term * d);
      c = away(1 + term / c);
      step = d * c;
      product *= step;
    }
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return product;
}

/** ln of the share of directions of R^d within `phi` of an axis: ½ I_{sin²φ}((d-1)/2, ½). */
export function logCapFraction(d, phi) {
  const a = (d - 1) / 2, b = 0.5;
  const x = Math.sin(phi) ** 2, y = Math.cos(phi) ** 2;
  // x^a y^b / B(a, b), with ln B(a, ½) = ½ ln π - ln(Γ(a + ½) / Γ(a))
  const log = 2 * a * Math.log(Math.sin(phi)) + b * Math.log(y) + logGammaHalfStep(a) - 0.5 * Math.log(Math.PI);
  let logHalf;
  if (x < (a + 1) / (a + b + 2)) logHalf = log + Math.log(betaFraction(a, b, x) / a) - Math.LN2;
  else logHalf = Math.log1p(-Math.exp(log) * betaFraction(b, a, y) / b) - Math.LN2;
  return phi > Math.PI / 2 ? Math.log1p(-Math.exp(logHalf)) : logHalf;
}

// ---- number grids ------------------------------------------------------------------------------

function exponent(grid, magnitude) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, magnitude);
  return Math.max(((bits.getUint16(0) >> 4) & 0x7ff) - 1023, grid.min_exponent);
}

function spacing(grid, x) {
  if (x > grid.largest) {
    throw new Error(`The support reaches ${format(x)}, beyond the largest ${grid.name} value ${format(grid.largest)}: take a wider format or a smaller support.`);
  }
  return 2 ** (exponent(grid, x) - grid.mantissa);
}

/** How many values of the grid lie in [-reach, reach]. */
function count(grid, reach) {
  const magnitude = Math.min(reach, grid.largest);
  const e = exponent(grid, magnitude);
  const below = (e - grid.min_exponent) * 2 ** grid.mantissa + Math.floor(magnitude / 2 ** (e - grid.mantissa));
  return 2 * below + 1;
}

// ---- supports ----------------------------------------------------------------------------------

/** How many of d coordinates take each entry of the profile: coordinate i takes floor(i L / d). */
function coordinates(d, profile) {
  const before = (j) => Math.ceil((j * d) / profile.length);
  return profile.map((_, j) => before(j + 1) - before(j));
}

/** Exact count of the box with half-sides `reach`, each for `times` coordinates. */
function logBox(reach, times, eps) {
  return sum(reach.map((half, j) => {
    const ratio = (half + half) / eps;
    return times[j] * logSteps(half + half, eps, Math.floor(ratio * (1 + 2 ** -50)));
  }));
}

/** ln of the least volume, in cubes of side ε, of the ellipsoids that hold the sum with a cube. */
function logEllipsoid(axes, times, d, eps, sliced) {
  const squares = axes.map((axis) => 2 * (Math.log(axis) - Math.log(eps)));
  const logRho2 = Math.log(d / 4);
  const k = sliced ? d - 1 : d;
  const halfLogDet = (u) => { // u = ln t
    const each = squares.map((square) => logAddExp(square, logRho2 - u));
    let total = k * logAddExp(0, u) + sum(each.map((log, j) => times[j] * log));
    if (sliced) {
      const top = Math.max(...each.map((log) => -log));
      total += top + Math.log(sum(each.map((log, j) => times[j] * Math.exp(-log - top)))) - Math.log(d);
    }
    return total / 2;
  };
  const least = goldenMinimum(halfLogDet, (logRho2 - Math.max(...squares)) / 2 - 1, (logRho2 - Math.min(...squares)) / 2 + 1);
  return least + (k / 2) * Math.log(Math.PI) - logGamma(k / 2 + 1);
}

function goldenMinimum(f, low, high) {
  const g = (Math.sqrt(5) - 1) / 2;
  let a = high - g * (high - low), b = low + g * (high - low), fa = f(a), fb = f(b);
  while (high - low > 1e-9) {
    if (fa < fb) {
      [high, b, fb] = [b, a, fa];
      a = high - g * (high - low);
      fa = f(a);
    } else {
      [low, a, fa] = [a, b, fb];
      b = low + g * (high - low);
      fb = f(b);
    }
  }
  return Math.min(fa, fb);
}

/** {rigorous, reach, times, logPacking(eps)}; |x_i| <= reach[j] for times[j] coordinates each. */
function supportOf({ support, d, r, angle, share, axis, gain, profile }) {
  if (support === "ball" || support === "cone") {
    const ball = (eps) => d * logSteps(2 * r, eps);
    const shape = { rigorous: true, reach: [r], times: [d], logPacking: ball };
    if (support === "ball") return shape;
    if (d < 2) throw new Error("A cone needs at least two coordinates: raise d.");
    const part = logCapFraction(d, (angle * Math.PI) / 180);
    return { ...shape, rigorous: false, logPacking: (eps) => Math.max(0, ball(eps) + part) };
  }
  if (support === "box") {
    const reach = [r * share];
    return { rigorous: true, reach, times: [d], logPacking: (eps) => logBox(reach, [d], eps) };
  }
  const all = coordinates(d, profile);
  const times = all.filter((number) => number > 0);
  const used = profile.filter((_, j) => all[j] > 0);
  const sliced = support === "layernorm";
  if (sliced && d < 2) throw new Error("A LayerNorm of one coordinate always gives its shift: raise d.");
  const size = used.map((part) => part * (support === "ellipsoid" ? axis : gain));
  const axes = support === "ellipsoid" ? size : size.map((each) => each * Math.sqrt(d));
  const reach = support === "ellipsoid" ? size : size.map((each) => each * Math.sqrt(sliced ? d - 1 : d));
  const logPacking = (eps) =>
    Math.min(Math.max(0, logEllipsoid(axes, times, d, eps, sliced)), logBox(reach, times, eps));
  return { rigorous: true, reach, times, logPacking };
}

// ---- prompts of any length ---------------------------------------------------------------------

/** log10 of Corollary 4.10's threshold; logX = ln(factor r / eps_W), Wasserstein order 1. */
function log10AnyLength(logX, d, vocab) {
  const log = d * logAddExp(0, logX) + Math.log1p(logAddExp(0, logX));
  return log / Math.LN10 - Math.log10(Math.log(vocab));
}

/** ln(factor r / eps_W) at which that threshold is n tokens, by bisection. */
function logQuotientFor(n, d, vocab) {
  let low = -700, high = 700;
  for (let step = 0; step < 100; step++) {
    const middle = (low + high) / 2;
    if (log10AnyLength(middle, d, vocab) < Math.log10(n)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

// ---- everything the explorer shows -------------------------------------------------------------

/** As the Python function `compute`, with the number grid of the dtype in `grid`. */
export function compute(settings) {
  const { d, vocab, m, precision, grid, eps_w, reach_n, lengths } = settings;
  const support = supportOf(settings);
  const reach = Math.max(...support.reach);
  const eps = {
    eps: () => settings.eps,
    spacing: () => spacing(grid, reach),
    machine: () => 2 ** -grid.mantissa,
    roundoff: () => 2 ** (-grid.mantissa - 1),
    representable: () => null,
  }[precision]();
  const logPacking = eps === null
    ? sum(support.reach.map((half, j) => support.times[j] * Math.log(count(grid, half))))
    : support.logPacking(eps);
  const perToken = Math.log(vocab);
  const factor = Number(settings.factor);
  const share = (log) => Math.min(0, log) / Math.LN10;
  return {
    rigorous: support.rigorous || eps === null,
    eps,
    log_packing: logPacking,
    slope: logPacking / perToken,
    threshold: (m * logPacking) / perToken,
    storage_slope: (d * grid.bits * Math.LN2) / perToken,
    log10_any_length: log10AnyLength(Math.log(factor) + Math.log(reach) - Math.log(eps_w), d, vocab),
    eps_w_for_length: Math.exp(Math.log(factor) + Math.log(reach) - logQuotientFor(reach_n, d, vocab)),
    log10_fraction: lengths.map((n) => share(m * logPacking - n * perToken)),
    log10_hard_fraction: lengths.map((n) => share((m - n) * perToken)),
  };
}
