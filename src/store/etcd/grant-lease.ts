// What a grant looks at, and what it writes.

import {
  type AcquireView,
  flapAfterGrant,
  grantLease as grantedRecord,
} from '../../lease/decide/acquire.ts';
import { endedLease } from '../../lease/decide/term.ts';
import { isIssuable, toFence } from '../../lease/fence.ts';
import { type LeaseRecord, termEnd } from '../../lease/lease.ts';
import type { Acquire } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { type Line, loadFlap, loadLine } from './line.ts';
import { lastIssued, loadChain } from './load-view.ts';
import { type Epoch, toEpoch, toLease } from './records.ts';
import { appendEnded, saveGrant } from './save-lease.ts';
import type { Transaction } from './transaction.ts';

export interface Entry extends AcquireView {
  readonly now: Instant;
  readonly epoch: Epoch;
  readonly line: Line;
}

/** Nobody stands in line, as long as nobody was ever seen to. */
const NO_LINE: Line = { own: undefined, ahead: 0, revision: 0 };

/** Everything that decides whether this session may have this key. */
export async function loadEntry(
  database: Database,
  tx: Transaction,
  request: Acquire,
): Promise<Entry> {
  const { keys } = tx;
  const { key } = request;
  const [meta, record] = [
    [keys.epoch, keys.halt, keys.cluster],
    [keys.term(key), keys.lease(key)],
  ];
  // All at once; what each is conditioned on comes with the loads below.
  if (tx.isFresh) await tx.load([...meta, ...record, keys.live(request.session)], 'seen');
  await tx.load(meta);
  await tx.load(record, 'unchanged', true);
  const lease = toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key)));
  const own = await loadChain(tx, request.session);
  const holder = lease?.end === undefined ? await loadChain(tx, lease?.session) : [];
  const line = tx.isFresh ? await loadLine(database, tx, request) : NO_LINE;
  const owner = own.at(-1)?.owner;
  const halted = toNumber(tx.get(keys.halt));
  return {
    own,
    lease,
    holder,
    ahead: line.ahead,
    flapUntil: owner === undefined ? undefined : await loadFlap(tx, key, owner),
    halted: halted === undefined ? undefined : toFence(halted),
    policy: database.policy,
    now: tx.now,
    epoch: toEpoch(tx.get(keys.epoch)),
    line,
  };
}

/** The record of the new term; its fence is known when the transaction is. */
export async function grantLease(
  database: Database,
  tx: Transaction,
  asked: { readonly request: Acquire; readonly entry: Entry },
): Promise<LeaseRecord> {
  const { request, entry } = asked;
  const { key } = request;
  const { now, epoch } = entry;
  // A newcomer does not overtake who came into the line meanwhile; who has a place has it.
  if (entry.line.own === undefined) tx.guardNoNewcomer(tx.keys.line(key), entry.line.revision);
  else tx.delete(tx.keys.ticket(key, request.attempt));
  const view = withEndRecorded(database, tx, entry);
  const upcoming = lastIssued(tx, epoch) + 1;
  assert(isIssuable(upcoming), 'T-3: epochs are used up');
  const lease = grantedRecord(view, request, { fence: toFence(upcoming), now });
  // What a deadline of its own leaves the holder is counted from when this was sent.
  if (lease.hardDeadlineAt !== undefined) tx.moveClock();
  await chargeLoser(database, tx, { lease, now });
  saveGrant(tx, { before: view.lease, after: lease, epoch });
  const { rev, session, owner, fence } = lease;
  tx.append({ kind: 'acquired', at: now, key, fence, rev, session, owner }, epoch);
  return lease;
}

/** E-3: an end that nobody has written down gets its event now, as a sweep would have written it. */
function withEndRecorded(database: Database, tx: Transaction, entry: Entry): AcquireView {
  const { lease, holder, now } = entry;
  if (lease === undefined || lease.end !== undefined) return entry;
  const end = termEnd(lease, holder, now);
  if (end === undefined) return entry;
  const ended = endedLease(lease, end, database.policy);
  appendEnded(tx, ended, { end, at: now });
  return { ...entry, lease: ended };
}

/** G-4: who lost the term by expiry is charged for it. */
async function chargeLoser(
  database: Database,
  tx: Transaction,
  granted: { readonly lease: LeaseRecord; readonly now: Instant },
): Promise<void> {
  const { lease, now } = granted;
  const { owner, exit } = lease.predecessor;
  if (owner === undefined || exit !== 'expired') return;
  const { policy } = database;
  const before = await loadFlap(tx, lease.key, owner);
  const until = flapAfterGrant(lease.predecessor, before, { policy, now });
  if (until !== undefined) tx.put(tx.keys.flap(lease.key, owner), String(until));
}
