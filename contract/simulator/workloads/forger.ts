// A client that forges requests. It takes the request of a real holder, changes one part of it, and
// leaves the others as they are. Each part is checked on its own (T-6, X-1), so the store must refuse
// every one. Processes that follow the rules never send such requests.

import type { Fence } from '../../../src/lease/fence.ts';
import type {
  AttemptId,
  EffectId,
  LeaseKey,
  Owner,
  RequestId,
  SessionId,
} from '../../../src/lease/names.ts';
import type { SaveCheckpoint } from '../../../src/lease/port.ts';
import type { CoordinatorStore, OwnerWrite } from '../../../src/store/contract/execution-store.ts';
import { digestOf } from '../../../src/support/digest.ts';
import type { Actor, Life } from '../actor.ts';
import type { Workload } from '../plan.ts';
import { callerOf, SimulatedNetwork } from '../workers.ts';
import { ACTIVE_MS, between, CHECKPOINT_BYTES_MAX, pick, type World } from '../world.ts';
import { isRefusal } from './hostile.ts';

function checkpointOf(size: number): Pick<SaveCheckpoint, 'seq' | 'bytes' | 'digest'> {
  const bytes = new Uint8Array(size);
  return { seq: 1_000_000, bytes, digest: digestOf(bytes) };
}

/** A term of a holder, and the session of another process. */
interface Term {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly session: SessionId;
  readonly attempt: AttemptId;
  readonly other: SessionId;
  /** The store time at which an operator or the holder's own limit ends the term. */
  readonly deadlineAt: number | null;
}

/** A claim of a worker. */
type Claim = Pick<OwnerWrite, 'id' | 'fence' | 'session' | 'seq'> & { readonly other: SessionId };

interface ForgedTerm {
  /** Undefined if the store may accept it, because it came early. The lease model judges it then. */
  readonly rule?: string;
  readonly send: (store: CoordinatorStore, term: Term) => Promise<object>;
  /** The terms that it chooses from. Requests of limited ones are sent right after the deadline. */
  readonly of?: keyof typeof TERMS;
}

interface ForgedClaim {
  readonly rule: string;
  readonly change: (claim: Claim) => Partial<OwnerWrite>;
}

const SAVED = checkpointOf(10);
const TOO_MUCH = checkpointOf(CHECKPOINT_BYTES_MAX + 1);
const EFFECT = 'forged' as EffectId;
const older = (fence: Fence): Fence => (fence - 1) as Fence;
const FORGER = 'forger' as Owner;

const OF_A_TERM: Readonly<Record<string, ForgedTerm>> = {
  'saves with an older fence': {
    rule: 'T-4',
    send: ({ leases }, { key, fence, session }) =>
      leases.checkpoint({ key, fence: older(fence), session, ...SAVED }),
  },
  'saves from another session': {
    rule: 'T-6',
    send: ({ leases }, { key, fence, other }) =>
      leases.checkpoint({ key, fence, session: other, ...SAVED }),
  },
  'saves too much': {
    rule: 'K-3',
    send: ({ leases }, { key, fence, session }) =>
      leases.checkpoint({ key, fence, session, ...TOO_MUCH }),
  },
  'saves after the deadline': {
    of: 'limited',
    send: ({ leases }, { key, fence, session }) =>
      leases.checkpoint({ key, fence, session, ...SAVED }),
  },
  'begins an effect after the deadline': {
    of: 'limited',
    send: ({ leases }, { key, fence, session }) =>
      leases.beginIntent({ key, fence, session, effect: EFFECT }),
  },
  'drains again after the deadline': {
    of: 'limited',
    send: ({ leases }, { key, fence, attempt }) =>
      leases.requestDrain({
        ...{ key, fence, request: attempt as string as RequestId, deadlineMs: 100 },
        ...{ actor: 'forger', reason: 'simulated' },
      }),
  },
  'begins an effect from another session': {
    rule: 'T-6',
    send: ({ leases }, { key, fence, other }) =>
      leases.beginIntent({ key, fence, session: other, effect: EFFECT }),
  },
  'releases with an older fence': {
    rule: 'T-6',
    send: ({ leases }, { key, fence, session }) =>
      leases.release({ key, fence: older(fence), session, exit: 'finished' }),
  },
  'releases from another session': {
    rule: 'T-6',
    send: ({ leases }, { key, fence, other }) =>
      leases.release({ key, fence, session: other, exit: 'finished' }),
  },
  'acquires again with the attempt of a term that ended': {
    of: 'ended',
    send: ({ leases }, { key, session, attempt }) =>
      leases.acquire({ key, session, attempt, wait: false, reopen: true }),
  },
  'beats as another owner': {
    rule: 'R-1',
    send: ({ sessions }, { session: id }) => sessions.heartbeat({ id, owner: FORGER }),
  },
  'ends the session as another owner': {
    rule: 'T-6',
    send: ({ sessions }, { session: id }) =>
      sessions.end({ id, by: { kind: 'owner', owner: FORGER, exit: 'finished' } }),
  },
};

const OF_A_CLAIM: Readonly<Record<string, ForgedClaim>> = {
  'records with an older fence': { rule: 'X-1', change: ({ fence }) => ({ fence: older(fence) }) },
  'records from another session': { rule: 'X-1', change: ({ other: session }) => ({ session }) },
  'records far ahead': { rule: 'X-4', change: ({ seq }) => ({ seq: seq + 50 }) },
};

const EVENTS = [{ kind: 'step-completed', body: '{"key":"forged","out":null}' }] as never;

export const forger: Workload = {
  name: 'forger',

  plan(random) {
    const names = [...Object.keys(OF_A_TERM), ...Object.keys(OF_A_CLAIM)];
    return Array.from({ length: between(random, 4, 8) }, () => {
      const name = pick(random, names);
      const details = { name, isByMessage: random.next() < 0.5, lot: random.next() };
      const atMs = between(random, 500, ACTIVE_MS);
      return { atMs, of: 'forger', what: `the forger ${name}`, details };
    });
  },

  open(world) {
    const actor = world.actor('forger', async (life) => life);
    return ({ details }) => forge(world, actor, details as unknown as Forgery);
  },
};

interface Forgery {
  readonly name: string;
  readonly isByMessage: boolean;
  /** From 0 to 1: chooses the victim. */
  readonly lot: number;
}

function forge(world: World, { life }: Actor<Life>, { name, isByMessage, lot }: Forgery): void {
  if (life === undefined) return;
  const ofTerm = OF_A_TERM[name];
  const ofClaim = OF_A_CLAIM[name];
  const attempt = (rule: string | undefined, send: () => Promise<object>): void => {
    world.operations += 1;
    world.run(life.process, async () => {
      const reply = await send();
      if (rule !== undefined && !isRefusal(reply)) {
        world.violate(rule, `The forger ${name}, and the store accepted it.`);
      }
    });
  };
  if (ofTerm !== undefined) {
    const { rule, send, of = 'open' } = ofTerm;
    const term = chosen(world, lot, TERMS[of]) as Term | undefined;
    if (term === undefined) return;
    attempt(rule, async () => {
      const { deadlineAt } = term;
      if (deadlineAt !== null && of === 'limited') {
        await life.process.timers.pause(deadlineAt - world.host.clock.wallMs());
      }
      return send(life.link.store, term);
    });
  }
  if (ofClaim !== undefined) {
    const claim = chosen(world, lot, CLAIMS) as Claim | undefined;
    if (claim === undefined) return;
    const { id, fence, session, seq } = claim;
    const write = { id, fence, session, seq: seq + 1, events: EVENTS, ...ofClaim.change(claim) };
    const isSent = isByMessage && world.coordinators.length > 0;
    attempt(ofClaim.rule, () =>
      isSent ? sendBy(world, life, write) : life.link.store.executions.record(write),
    );
  }
}

/** By a coordinator, whose store remembers the last event of the executions of its workers. */
function sendBy(world: World, life: Life, write: OwnerWrite): Promise<object> {
  const caller = callerOf('default');
  const network = new SimulatedNetwork(world, { life, caller }, world.coordinators);
  const body = { writes: [{ verb: 'record', ...write }] };
  return network.request({ kind: 'writeAsOwner', body });
}

const OTHER = `(select id from session as other
                 where other.ended_at is null and other.id <> session.id order by id limit 1)`;

const termsThat = (condition: string): string => `
  select lease.key, lease.fence, lease.session_id as session, lease.attempt_id as attempt,
         ${OTHER} as other, coalesce(lease.drain_deadline_at, lease.hard_deadline_at) as deadlineAt
    from lease
    join session on session.id = lease.session_id
   where session.ended_at is null
     and ${condition}
   order by lease.key`;

const TERMS = {
  open: termsThat('lease.ended_at is null'),
  limited: termsThat('lease.ended_at is null and deadlineAt is not null'),
  ended: termsThat('lease.ended_at is not null'),
} as const;

const CLAIMS = `
  select execution.id, execution.fence, execution.session_id as session, ${OTHER} as other,
         (select max(seq) from history where history.row_id = execution.row_id) as seq
    from execution
    join session on session.id = execution.session_id
   where execution.status = 1
   order by execution.id`;

function chosen(world: World, lot: number, sql: string): unknown {
  const found = world.disk.rows<{ readonly other: string | null }>(sql);
  const victim = found[Math.floor(lot * found.length)];
  return victim?.other == null ? undefined : victim;
}
