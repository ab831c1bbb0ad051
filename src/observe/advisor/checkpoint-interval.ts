// How much work to do between two checkpoints: saving costs time, and what was not saved is done
// again after a loss. Young's rule, Daly's refinement, and both for work that comes in steps.

/** √(2·C/λ), with what a second of saving and of work done twice are worth. */
export function youngInterval(
  costMs: number,
  lossesPerMs: number,
  worth: { readonly saving: number; readonly rework: number } = { saving: 1, rework: 1 },
): number {
  return Math.sqrt((2 * costMs * worth.saving) / (lossesPerMs * worth.rework));
}

/** Daly's higher order, which matters when saving is not short against the time between losses. */
export function dalyInterval(costMs: number, lossesPerMs: number): number {
  const between = 1 / lossesPerMs;
  if (costMs >= 2 * between) return between;
  const ratio = costMs / (2 * between);
  return Math.sqrt(2 * costMs * between) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - costMs;
}

/** Share of time that goes into saving, into doing work again and into standing still. */
export function wasteShare(
  intervalMs: number,
  costMs: number,
  losses: { readonly perMs: number; readonly downMs: number },
): number {
  return costMs / intervalMs + losses.perMs * (intervalMs / 2 + losses.downMs);
}

/**
 * For work in steps: save at the first end of a step at which this much was done. Between two saves
 * there is then about half a step more than asked for.
 */
export function shouldCheckpoint(sinceLastMs: number, intervalMs: number): boolean {
  return sinceLastMs >= intervalMs;
}
