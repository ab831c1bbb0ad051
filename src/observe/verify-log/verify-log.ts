// Checks recorded lease logs: exclusive tenure, fence order, one end per term, checkpoint lineage,
// the chain of predecessors, and that the store accepted nothing from replaced holders.

import { integerOption, rejectUnknownOptions } from '../../support/options.ts';
import type { LocatedEntry, MalformedLine } from '../lease-log/entry.ts';
import { readLeaseLog } from '../lease-log/read-log.ts';
import { FactCollector, type Facts, type Violation } from './facts.ts';
import { checkLateWrites } from './late-writes.ts';
import { checkLineage } from './lineage.ts';
import { checkFenceOrder, checkTenure } from './tenure.ts';

/** Options of `verifyLeaseLogs`. */
export interface VerifyOptions {
  /**
   * Milliseconds by which clocks of holders and the store may differ, up to a day. Default 1,000.
   */
  readonly skewMs?: number;
  /** Called with the file and the bytes read so far. */
  readonly onProgress?: (log: string, bytes: number) => void;
}

/** The extent of a check. */
export interface Checked {
  /** The number of events of the store. */
  readonly events: number;
  /** The number of operations of holders. */
  readonly operations: number;
  /** The number of keys. */
  readonly keys: number;
  /** The number of terms. */
  readonly terms: number;
  /** The number of terms that expired and were taken over. */
  readonly takeovers: number;
  /** The number of checkpoints. */
  readonly checkpoints: number;
  /** Limits of the check, for people. */
  readonly notes: readonly string[];
}

/**
 * The result of a verification. `checked` has the counts.
 *
 * - `clean`: no rule is violated.
 * - `empty`: there was nothing to check.
 * - `violated`: `violations` lists the violated rules.
 * - `unreadable`: `lines` are not entries of a lease log. Nothing was checked.
 */
export type VerifiedLog =
  | { readonly kind: 'clean'; readonly checked: Checked }
  | { readonly kind: 'empty'; readonly checked: Checked }
  | {
      readonly kind: 'violated';
      readonly checked: Checked;
      readonly violations: readonly Violation[];
    }
  | { readonly kind: 'unreadable'; readonly lines: readonly MalformedLine[] };

const SKEW_MS_DEFAULT = 1_000;
const MALFORMED_MAX = 20;

/**
 * Checks recorded leases against the rules: no overlapping terms, rising fences, no stale writes.
 *
 * Throws the system's error if a file cannot be read, and `InvalidInput` for invalid options.
 *
 * @example
 * const verified = await verifyLeaseLogs(['./leases.log']);
 * if (verified.kind === 'violated') console.error(verified.violations);
 */
export async function verifyLeaseLogs(
  files: readonly string[],
  options: VerifyOptions = {},
): Promise<VerifiedLog> {
  rejectUnknownOptions('verifyLeaseLogs', options, ['skewMs', 'onProgress']);
  const entries: LocatedEntry[] = [];
  const malformed: MalformedLine[] = [];
  for (const file of files) {
    const onProgress = (bytes: number): void => options.onProgress?.(file, bytes);
    for await (const read of readLeaseLog(file, { onProgress })) {
      if (read.kind !== 'malformed') entries.push(read);
      else if (malformed.length < MALFORMED_MAX) malformed.push(read);
    }
  }
  if (malformed.length > 0) return { kind: 'unreadable', lines: malformed };
  return verifyEntries(entries, options);
}

/**
 * Checks log entries that you have read against the rules. Throws `InvalidInput` for invalid
 * options.
 *
 * @example
 * const entries = [];
 * for await (const entry of readLeaseLog('./leases.log')) if (entry.kind !== 'malformed') entries.push(entry);
 * console.log(verifyEntries(entries).kind);
 */
export function verifyEntries(
  entries: Iterable<LocatedEntry>,
  options: Pick<VerifyOptions, 'skewMs'> = {},
): Exclude<VerifiedLog, { kind: 'unreadable' }> {
  const skewMs = integerOption('skewMs', options.skewMs ?? SKEW_MS_DEFAULT, {
    min: 0,
    max: 86_400_000,
  });
  const collector = new FactCollector();
  for (const entry of entries) collector.add(entry);
  const facts = collector.facts();
  const violations = [
    ...facts.conflicts,
    ...checkTenure(facts),
    ...checkFenceOrder(facts, skewMs),
    ...checkLineage(facts),
    ...checkLateWrites(facts, skewMs),
  ];
  const checked = checkedOf(facts);
  if (violations.length > 0) return { kind: 'violated', checked, violations };
  const isEmpty = checked.events + checked.operations === 0;
  return { kind: isEmpty ? 'empty' : 'clean', checked };
}

function checkedOf(facts: Facts): Checked {
  const terms = [...facts.termOf.values()];
  const notes: string[] = [];
  if (facts.events.length === 0) {
    notes.push(
      'No events of the store: tenure could not be checked, and fence order only in part.',
    );
  }
  if (facts.operations.length === 0) {
    notes.push('No reports of holders: lineage and late writes could not be checked.');
  }
  if (facts.startsLate) notes.push('The log starts after the first event of the store.');
  const missed = facts.missedUntil.length;
  if (missed > 0) {
    notes.push(
      `Events of the store were deleted before they were recorded, ${missed === 1 ? 'once' : `${missed} times`}.`,
    );
  }
  if (facts.dropped > 0) notes.push(`${facts.dropped} entries were not recorded.`);
  return {
    events: facts.events.length,
    operations: facts.operations.length,
    keys: facts.terms.size,
    terms: terms.length,
    takeovers: terms.filter(
      ({ ended, successor }) => ended?.exit === 'expired' && successor !== undefined,
    ).length,
    checkpoints: facts.operations.filter(
      ({ operation, outcome }) => operation === 'checkpoint' && outcome === 'ok',
    ).length,
    notes,
  };
}
