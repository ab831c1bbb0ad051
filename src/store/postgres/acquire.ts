import { type AcquireDecision, answerGrant, decideAcquire } from '../../lease/decide/acquire.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireAnswer } from '../../lease/port.ts';
import type { EntryRefusal } from '../../lease/refusal.ts';
import { AssertionFault } from '../../support/assert.ts';
import { adoptServer } from './adopt-server.ts';
import { type Database, statement } from './database.ts';
import { grantLease } from './grant-lease.ts';
import { type EntryView, loadEntry } from './load-view.ts';
import { reclaim } from './reclaim.ts';
import { recordEnd, recordOrphan } from './record-end.ts';
import { withdraw } from './withdraw.ts';

// Asking again keeps the place; it is written only when half of its time is gone.
const TAKE_TICKET = statement(`
  insert into hf.ticket as t (key, attempt_id, session_id, expires_at)
  values ($1, $2, $3, hf_now() + $4)
      on conflict (key, attempt_id) do update
     set expires_at = excluded.expires_at
   where t.expires_at < hf_now() + $4 / 2`);

/** Each round either answers or follows a change that somebody made; this many in a row is a bug. */
const ROUNDS_MAX = 64;

export async function acquire(
  database: Database,
  policy: LeasePolicy,
  request: Acquire,
): Promise<AcquireAnswer> {
  // Nobody in line up to here counts: they are dead, or kept out by their losses (A-7, G-4). They
  // keep their places, for they may count again.
  let lineSeen = 0;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const granted = await grantLease(database, policy, { request, lineSeen });
    if (granted !== undefined) {
      // A copy of this request may have taken its place in line too late for the grant to see it.
      // The grant stands whether or not that can be tidied up now.
      if (request.wait === true) await withdraw(database, request).catch(() => undefined);
      return granted;
    }
    const view = await loadEntry(database, request);
    const decision = decideAcquire({ ...view, policy }, request, view.now);
    if (decision.kind === 'grant') lineSeen = view.lineEnd;
    const answer = await answerOrPrepare(database, policy, { request, view, decision });
    if (answer !== undefined) return answer;
  }
  throw new AssertionFault(
    `A-1: acquire of "${request.key}" found the key free ${ROUNDS_MAX} times in vain`,
  );
}

interface Explained {
  readonly request: Acquire;
  readonly view: EntryView;
  readonly decision: AcquireDecision;
}

/** The answer, or nothing when the way was cleared and the statement should be tried again. */
async function answerOrPrepare(
  database: Database,
  policy: LeasePolicy,
  explained: Explained,
): Promise<AcquireAnswer | undefined> {
  const { request, view, decision } = explained;
  switch (decision.kind) {
    case 'refuse-session':
      return { kind: 'refused', ...decision.refusal };
    case 'replay': {
      const grant = answerGrant(decision.lease, view.own, view.now);
      return { kind: 'granted', replayed: true, ...grant };
    }
    case 'refuse':
      return decision.mayWait && request.wait === true
        ? enqueue(database, request, { policy, refusal: decision.refusal })
        : { kind: 'refused', ...decision.refusal };
    case 'reclaim':
      await adoptServer(database, policy);
      await reclaim(database, policy, decision.sessions);
      return undefined;
    case 'grant':
      await adoptServer(database, policy);
      if (view.holder.length > 0) await recordEnd(database, policy, request.key);
      else await database.transaction((queries) => recordOrphan(queries, request.key));
      return undefined;
  }
}

async function enqueue(
  database: Database,
  request: Acquire,
  context: { readonly policy: LeasePolicy; readonly refusal: EntryRefusal },
): Promise<AcquireAnswer | undefined> {
  const { policy, refusal } = context;
  const { key, attempt, session } = request;
  await database.rows(TAKE_TICKET, [key, attempt, session, policy.ticketMs]);
  const { ahead, lease } = await loadEntry(database, request);
  const isGranted = lease?.attempt === attempt && lease.session === session;
  if (!isGranted) return { kind: 'queued', ahead, refusal };
  // A copy of this request was granted meanwhile: nobody would ever come for the place in line.
  await withdraw(database, request);
  return undefined;
}
