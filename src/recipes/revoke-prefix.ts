// Revokes all leases under a prefix, page by page and with progress, instead of in one large
// transaction. You can continue after the last reported key (H-3). A forced end does not wait for
// the holders; `drainMs` gives them time.

import { type LeaseKey, parseLeaseKey, parseRequestId, parseText } from '../lease/names.ts';
import type { KernelStore, ListedLease } from '../lease/port.ts';
import type { Refusal } from '../lease/refusal.ts';
import { requireStore } from '../lease/session-options.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';
import { type Random, systemRandom } from '../support/random.ts';

export interface RevokePrefixOptions {
  readonly store: KernelStore;
  readonly prefix: string;
  readonly actor: string;
  readonly reason: string;
  /** Ask holders to stop within this long instead of ending their terms now. */
  readonly drainMs?: number;
  /** Go on after this key, as the last progress said. */
  readonly after?: string;
  readonly pageSize?: number;
  readonly random?: Random;
}

/** One page is done. `after` is where to go on if this is the last thing that was heard. */
export interface RevokeProgress {
  readonly after: LeaseKey;
  /** Keys looked at, terms ended, and holders asked to stop, since this was called: with `after` from 0. */
  readonly checked: number;
  readonly ended: number;
  /** With `drainMs`: their terms go on until they stop, or until the deadline. */
  readonly asked: number;
  /** Of this page: what was neither ended nor asked, and why: somebody else was faster, mostly. */
  readonly refused: readonly { readonly key: LeaseKey; readonly refusal: Refusal }[];
}

const OPTION_NAMES: readonly (keyof RevokePrefixOptions)[] = [
  'store',
  'prefix',
  'actor',
  'reason',
  'drainMs',
  'after',
  'pageSize',
  'random',
];

const DRAIN_MS_MAX = 31_536_000_000;

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
    for (const lease of page.filter(isOpen)) {
      const refusal = await endTerm(options, lease);
      if (refusal === undefined) done += 1;
      else refused.push({ key: lease.key, refusal });
    }
    checked += page.length;
    after = last.key;
    const [ended, asked] = drainMs === undefined ? [done, 0] : [0, done];
    yield { after, checked, ended, asked, refused };
  }
}

function isOpen({ state }: ListedLease): boolean {
  return state !== 'free' && state !== 'retired';
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
          by: actor,
          reason,
          deadlineMs: drainMs,
        });
  return result.kind === 'refused' ? result : undefined;
}
