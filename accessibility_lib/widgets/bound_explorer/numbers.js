// The closed forms, as accessibility_lib.bounds and .supports have them; logarithms throughout.

/** ln(1 + 2r/ε), also where 2r/ε overflows. */
function logSteps(r, eps) {
  const ratio = 2 * (r / eps);
  return Number.isFinite(ratio) ? Math.log1p(ratio) : Math.LN2 + Math.log(r) - Math.log(eps);
}

/** Everything the explorer shows, under the names of the Python function `compute`. */
export function compute({ d, r, eps, vocab, m, lengths }) {
  const perToken = Math.log(vocab);
  const logPacking = d * logSteps(r, eps);
  const slope = logPacking / perToken;
  const share = (log) => Math.min(0, log) / Math.LN10;
  return {
    log_packing: logPacking,
    slope,
    threshold: m * slope,
    log10_fraction: lengths.map((n) => share(m * logPacking - n * perToken)),
    log10_hard_fraction: lengths.map((n) => share((m - n) * perToken)),
  };
}
