// Who of a pool should hold how many keys. Pure, and the same for every member that sees the same
// members, so that nobody has to be asked.

/** Shares differ by one at most; the members first in order have the larger ones. */
export function shareOf(member: string, members: readonly string[], keys: number): number {
  const order = [...members].sort();
  const rank = order.indexOf(member);
  if (rank === -1) return 0;
  const least = Math.floor(keys / order.length);
  return rank < keys % order.length ? least + 1 : least;
}

/** The keys a member tries first, so that members do not all try the same one. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  if (items.length === 0) return [];
  const start = ((by % items.length) + items.length) % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
