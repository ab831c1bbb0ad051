// The records of the oracle, and checks over them. The oracle knows nothing of leases: it is the
// resource of P1, and its order of writes is the truth for the tests.

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

/** Writes that took effect after one with a higher fence: each is a violation of P1. */
export function outOfOrder(records: readonly OracleRecord[]): readonly OracleRecord[] {
  let newest = 0;
  return acceptedOnly(records).filter((record) => {
    newest = Math.max(newest, record.fence);
    return record.fence < newest;
  });
}

/** Fences that more than one writer used: each was granted twice. */
export function sharedFences(records: readonly OracleRecord[]): readonly number[] {
  const writers = new Map<number, Set<string>>();
  for (const { fence, who } of records) {
    writers.set(fence, (writers.get(fence) ?? new Set()).add(who));
  }
  return [...writers].filter(([, who]) => who.size > 1).map(([fence]) => fence);
}

/** Writes between the `enter` and the `leave` of another writer: two holders acted at once. */
export function overlaps(records: readonly OracleRecord[]): readonly OracleRecord[] {
  let inside: number | undefined;
  return acceptedOnly(records).filter((record) => {
    const overlapping = inside !== undefined && inside !== record.fence;
    if (record.effect === 'enter') inside = record.fence;
    if (record.effect === 'leave' && inside === record.fence) inside = undefined;
    return overlapping;
  });
}
