// Who stands in line for a key. Places are keys; who was written first is first.

import { dampedForMs } from '../../lease/flap.ts';
import type { AttemptId, LeaseKey, Owner } from '../../lease/names.ts';
import { chainState, keepsPlace } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { loadChain } from './load-view.ts';
import { type Ticket, toTicket } from './records.ts';
import type { Transaction } from './transaction.ts';

export interface Line {
  /** The place of this attempt, if it has one. */
  readonly own: Ticket | undefined;
  /** The living before it; all of them when it has none. */
  readonly ahead: number;
  /** At which this was so. */
  readonly revision: number;
}

export async function loadLine(
  database: Database,
  tx: Transaction,
  asked: { readonly key: LeaseKey; readonly attempt: AttemptId },
): Promise<Line> {
  const { key } = asked;
  const { tickets, revision } = await loadTickets(tx, key);
  const own = tickets.find(({ attempt }) => attempt === asked.attempt);
  const before = tickets.filter(({ place }) => own === undefined || place < own.place);
  const owners = await waitingOwners(tx, before);
  const flaps = owners.map((owner) => tx.keys.flap(key, owner));
  await tx.load(flaps, 'seen');
  // G-4: kept from the key for losing it too often, it does not keep others waiting.
  const isDamped = (flap: string): boolean => {
    const until = toNumber(tx.get(flap)) as Instant | undefined;
    return dampedForMs(until, database.policy, tx.now) > 0;
  };
  return { own, ahead: flaps.filter((flap) => !isDamped(flap)).length, revision };
}

export async function countWaiting(tx: Transaction, key: LeaseKey): Promise<number> {
  const { tickets } = await loadTickets(tx, key);
  return (await waitingOwners(tx, tickets)).length;
}

/** Of those whose place counts. */
async function waitingOwners(
  tx: Transaction,
  tickets: readonly Ticket[],
): Promise<readonly Owner[]> {
  await tx.load(
    tickets.map(({ session }) => tx.keys.live(session)),
    'seen',
  );
  const owners: Owner[] = [];
  for (const ticket of tickets) {
    const owner = await waitingOwner(tx, ticket);
    if (owner !== undefined) owners.push(owner);
  }
  return owners;
}

async function loadTickets(
  tx: Transaction,
  key: LeaseKey,
): Promise<{ readonly tickets: readonly Ticket[]; readonly revision: number }> {
  const { kvs, revision } = await tx.list(tx.keys.line(key));
  const tickets = kvs.map(toTicket).sort((a, b) => a.place - b.place);
  return { tickets, revision };
}

/** of a place that counts: its session was heard of within its ttl, and it has asked lately. */
async function waitingOwner(tx: Transaction, ticket: Ticket): Promise<Owner | undefined> {
  // Never from memory: a heartbeat that we have not heard of would make a living one look dead.
  const chain = await loadChain(tx, ticket.session, 'seen');
  const waits = keepsPlace(chain, tx.now) && ticket.expiresAt > tx.now;
  return waits ? chain.at(-1)?.owner : undefined;
}

/** a session that was given more time keeps its place, for it may count again. */
export async function isOver(tx: Transaction, ticket: Ticket): Promise<boolean> {
  const chain = await loadChain(tx, ticket.session, 'seen');
  return chainState(chain, tx.now) === 'ended' || ticket.expiresAt <= tx.now;
}

/** Until when this owner's penalty on this key runs. */
export async function loadFlap(
  tx: Transaction,
  key: LeaseKey,
  owner: Owner,
): Promise<Instant | undefined> {
  const flap = tx.keys.flap(key, owner);
  await tx.load([flap], 'unchanged', true);
  return toNumber(tx.get(flap)) as Instant | undefined;
}
