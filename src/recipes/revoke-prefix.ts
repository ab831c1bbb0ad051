// Revokes all leases under a prefix, page by page and with progress, instead of in one large
// transaction. You can continue after the last reported key (H-3). A forced end does not wait for
// the holders; `drainMs` gives them time.

import { type LeaseKey, parseLeaseKey, parseRequestId, parseText } from '../lease/names.ts';
import type { LeaseService, ListedLease } from '../lease/port.ts';
import type { Refusal } from '../lease/refusal.ts';
import { requireStore } from '../lease/session-options.ts';
import { integerOption, rejectUnknownOptions, wordsIn } from '../support/options.ts';
import { type Random, systemRandom } from '../support/random.ts';

/** Options of `revokePrefix`. */
export interface RevokePrefixOptions {
  /** An open store. */
  readonly store: LeaseService;
  /** Keys that start with this. */
  readonly prefix: string;
  /** The operator, for the record. */
  readonly actor: string;
  /** Why, for the record. */
  readonly reason: string;
  /** Ask holders to stop within this many milliseconds. By default their terms end now. */
  readonly drainMs?: number;
  /** Continue after this key: the `after` of the last progress. */
  readonly after?: string;
  /** Keys per page, 1 to 10,000. Default 100. */
  readonly pageSize?: number;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

/** The result of one page. */
export interface RevokeProgress {
  /** The last key of the page. Pass it as `after` to continue later. */
  readonly after: LeaseKey;
  /** The number of keys checked since the call. */
  readonly checked: number;
  /** The number of terms ended since the call. */
  readonly ended: number;
  /** With `drainMs`: the number of drains requested since the call. */
  readonly drained: number;
  /** Terms of this page that were not changed, each with its `key` and `refusal`. */
  readonly refused: readonly { readonly key: LeaseKey; readonly refusal: Refusal }[];
}

const OPTION_NAMES: readonly (keyof RevokePrefixOptions)[] = wordsIn(
  'store prefix actor reason drainMs after pageSize random',
);

const DRAIN_MS_MAX = 31_536_000_000;

/**
 * Ends or drains all leases under a prefix, page by page, and yields the progress of each page.
 *
 * Throws `InvalidInput` for invalid options, and `StoreUnavailable` or `OutcomeUnknown` if the
 * store does not respond. Continue with `after` then.
 *
 * @example
 * for await (const page of revokePrefix({ store, prefix: 'tenant-7/', actor: 'ada', reason: 'closed' })) {
 *   console.log(page.ended, page.after);
 * }
 */
export function revokePrefix(
  options: RevokePrefixOptions,
): AsyncGenerator<RevokeProgress, void, void> {
  rejectUnknownOptions('revokePrefix', options, OPTION_NAMES);
  requireStore('revokePrefix', options.store);
  const { drainMs, after } = options;
  if (drainMs !== undefined) integerOption('drainMs', drainMs, { min: 0, max: DRAIN_MS_MAX });
  return revokePages(
    {
      ...options,
      prefix: parseText('prefix', options.prefix),
      actor: parseText('actor', options.actor),
      reason: parseText('reason', options.reason),
      pageSize: integerOption('pageSize', options.pageSize ?? 100, { min: 1, max: 10_000 }),
    },
    after === undefined ? undefined : parseLeaseKey(after),
  );
}

async function* revokePages(
  options: RevokePrefixOptions & { readonly pageSize: number },
  start: LeaseKey | undefined,
): AsyncGenerator<RevokeProgress, void, void> {
  const { store, prefix, pageSize, drainMs } = options;
  let after = start;
  let [checked, done] = [0, 0];
  for (;;) {
    const from = after === undefined ? {} : { after };
    const page = await store.leases.list({ prefix, limit: pageSize, ...from });
    const last = page.at(-1);
    if (last === undefined) return;
    const refused: { key: LeaseKey; refusal: Refusal }[] = [];
    for (const lease of page.filter(({ state }) => state !== 'free' && state !== 'retired')) {
      const refusal = await endTerm(options, lease);
      if (refusal === undefined) done += 1;
      else refused.push({ key: lease.key, refusal });
    }
    checked += page.length;
    after = last.key;
    const [ended, drained] = drainMs === undefined ? [done, 0] : [0, done];
    yield { after, checked, ended, drained, refused };
  }
}

async function endTerm(
  options: RevokePrefixOptions,
  lease: ListedLease,
): Promise<Refusal | undefined> {
  const { store, actor, reason, drainMs, random = systemRandom } = options;
  const request = parseRequestId(random.uuid());
  const { key, fence } = lease;
  const result =
    drainMs === undefined
      ? await store.leases.revoke({ key, fence, request, actor, reason })
      : await store.leases.requestDrain({
          key,
          fence,
          request,
          actor,
          reason,
          deadlineMs: drainMs,
        });
  return result.kind === 'refused' ? result : undefined;
}
