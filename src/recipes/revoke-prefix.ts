// Revoking everything under a prefix: pages, with progress, that can be taken up again where it stopped,
// instead of one giant transaction (H-3). A forced end is not waited for by its holders; `drain` gives
// them time.

import { type LeaseKey, parseLeaseKey, parseRequestId, parseText } from '../lease/names.ts';
import type { KernelStore, ListedLease } from '../lease/port.ts';
import type { Refusal } from '../lease/refusal.ts';
import { rejectUnknownOptions, wholeNumber } from '../support/options.ts';
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
  readonly looked: number;
  readonly ended: number;
  /** What was not ended, and why: somebody else was faster, mostly. */
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

export async function* revokePrefix(
  options: RevokePrefixOptions,
): AsyncGenerator<RevokeProgress, void, void> {
  rejectUnknownOptions('revokePrefix', options, OPTION_NAMES);
  const limit = wholeNumber('pageSize', options.pageSize ?? 100, { min: 1, max: 10_000 });
  const prefix = parseText('prefix', options.prefix);
  let after = options.after === undefined ? undefined : parseLeaseKey(options.after);
  let [looked, ended] = [0, 0];
  for (;;) {
    const from = after === undefined ? {} : { after };
    const page = await options.store.leases.list({ prefix, limit, ...from });
    const last = page.at(-1);
    if (last === undefined) return;
    const refused: { key: LeaseKey; refusal: Refusal }[] = [];
    for (const lease of page.filter(isOpen)) {
      const refusal = await endTerm(options, lease);
      if (refusal === undefined) ended += 1;
      else refused.push({ key: lease.key, refusal });
    }
    looked += page.length;
    after = last.key;
    yield { after, looked, ended, refused };
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
  const answer =
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
  return answer.kind === 'refused' ? answer : undefined;
}
