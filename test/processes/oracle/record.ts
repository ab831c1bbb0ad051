// What the oracle writes down, and what can be read from it afterwards. It knows nothing of leases:
// it is the resource that P1 speaks of, and its order of writes is the truth the tests compare with.

export type OracleMode = 'checked' | 'unchecked';

export interface OracleWrite {
  readonly fence: number;
  readonly effect: string;
  readonly who: string;
}

export interface OracleRecord extends OracleWrite {
  readonly wallMs: number;
  readonly accepted: boolean;
}

export type OracleAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly newest: number };

export function acceptedOnly(records: readonly OracleRecord[]): readonly OracleRecord[] {
  return records.filter((record) => record.accepted);
}

/** Writes that took effect after one with a higher fence had: each is a violation of P1. */
export function outOfOrder(records: readonly OracleRecord[]): readonly OracleRecord[] {
  let newest = 0;
  return acceptedOnly(records).filter((record) => {
    newest = Math.max(newest, record.fence);
    return record.fence < newest;
  });
}

/** Fences that more than one writer wrote under: each was granted twice. */
export function sharedFences(records: readonly OracleRecord[]): readonly number[] {
  const writers = new Map<number, Set<string>>();
  for (const { fence, who } of records) {
    writers.set(fence, (writers.get(fence) ?? new Set()).add(who));
  }
  return [...writers].filter(([, who]) => who.size > 1).map(([fence]) => fence);
}

/** Writes that fell between the `enter` and the `leave` of somebody else: two holders acted at once. */
export function overlaps(records: readonly OracleRecord[]): readonly OracleRecord[] {
  let inside: number | undefined;
  return acceptedOnly(records).filter((record) => {
    const overlapping = inside !== undefined && inside !== record.fence;
    if (record.effect === 'enter') inside = record.fence;
    if (record.effect === 'leave' && inside === record.fence) inside = undefined;
    return overlapping;
  });
}
