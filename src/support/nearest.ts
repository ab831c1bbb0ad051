/** Comparing takes the product of two lengths, and what was written may be megabytes. */
const WRITTEN_MAX = 64;

/** The known name closest to what was written, when it is close enough to be a slip. */
export function nearestName(written: string, known: readonly string[]): string | undefined {
  if (written.length > WRITTEN_MAX) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(written.length / 3)) + 1;
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= bestDistance) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Letters that changed places are one slip. */
function editDistance(a: string, b: string): number {
  let beforePrevious: readonly number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const insertion = (current[column - 1] ?? 0) + 1;
      const deletion = (previous[column] ?? 0) + 1;
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const best = Math.min(substitution, insertion, deletion);
      const isSwap = row > 1 && column > 1 && swapped;
      current.push(isSwap ? Math.min(best, (beforePrevious[column - 2] ?? 0) + 1) : best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
