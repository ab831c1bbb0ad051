// Rules that hold after every batch, whatever it asked. The comparison with the model would miss a
// mistake that store and model share; these rules know neither.

import type { EventSeq, LeaseEvent } from '../../src/lease/event.ts';
import type { Fence } from '../../src/lease/fence.ts';
import type { Checkpoint } from '../../src/lease/lease.ts';
import type { LeaseKey } from '../../src/lease/names.ts';
import type { Grant, LeaseInspection } from '../../src/lease/port.ts';
import { chainState, type SessionRecord } from '../../src/lease/session.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { Observed } from './observe.ts';

interface KnownTerm {
  readonly fence: Fence;
  readonly hasEnded: boolean;
}

export class Watch {
  readonly #terms: Map<LeaseKey, KnownTerm> = new Map();
  readonly #checkpoints: Map<LeaseKey, { readonly fence: Fence; readonly seq: number }> = new Map();
  #seq: EventSeq = 0;

  /** The broken rule and the reason, if any. */
  events(events: readonly LeaseEvent[]): string | undefined {
    for (const event of events) {
      if (event.seq <= this.#seq) return `O-1: event ${event.seq} came after ${this.#seq}`;
      this.#seq = event.seq;
      const problem =
        event.kind === 'acquired' || event.kind === 'ended' ? this.#term(event) : undefined;
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #term(event: Extract<LeaseEvent, { kind: 'acquired' | 'ended' }>): string | undefined {
    const { key, fence, kind } = event;
    const known = this.#terms.get(key);
    if (kind === 'ended') {
      if (known?.fence !== fence || known.hasEnded) {
        return `E-3: term ${fence} of "${key}" ended, but the open term is ${JSON.stringify(known)}`;
      }
      this.#terms.set(key, { fence, hasEnded: true });
      return undefined;
    }
    if (known?.hasEnded === false) return `E-3: "${key}" was granted while ${known.fence} went on`;
    if (known !== undefined && fence <= known.fence) {
      return `T-3: "${key}" was granted under ${fence} after ${known.fence}`;
    }
    this.#terms.set(key, { fence, hasEnded: false });
    return undefined;
  }

  state(observed: Observed, now: Instant): string | undefined {
    const sessions = new Map(observed.sessions.map(({ session }) => [session.id, session]));
    for (const lease of observed.leases) {
      const problem =
        this.#checkpoint(lease) ?? notReallyHeld(lease, { sessions, now }) ?? this.#chain(lease);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #checkpoint({ key, record }: LeaseInspection): string | undefined {
    const before = this.#checkpoints.get(key);
    const seq = record?.checkpoint?.seq ?? 0;
    if (record === undefined) return undefined;
    if (before?.fence === record.fence && seq < before.seq) {
      return `K-2: the checkpoint of "${key}" went from ${before.seq} back to ${seq} in one term`;
    }
    this.#checkpoints.set(key, { fence: record.fence, seq });
    return undefined;
  }

  /** The row belongs to the newest term in the events. */
  #chain({ key, record }: LeaseInspection): string | undefined {
    const known = this.#terms.get(key);
    if (record === undefined || known?.fence === record.fence) return undefined;
    return `E-3: "${key}" is under ${record.fence}, events tell of ${known?.fence}`;
  }
}

/** An expired lease never shows as held (E-1). */
function notReallyHeld(
  { key, state, record }: LeaseInspection,
  view: { readonly sessions: ReadonlyMap<string, SessionRecord>; readonly now: Instant },
): string | undefined {
  if (record === undefined || (state !== 'held' && state !== 'draining')) return undefined;
  const { sessions, now } = view;
  const path = sessions.get(record.session)?.path ?? [];
  const chain = path.map((id) => sessions.get(id)).filter((each) => each !== undefined);
  if (chainState(chain, now) !== 'alive') return `E-1: "${key}" is shown as ${state} by the dead`;
  const deadlines = [record.hardDeadlineAt, record.drain?.deadlineAt].filter(
    (at) => at !== undefined,
  );
  if (deadlines.some((at) => at <= now))
    return `E-1: "${key}" is shown as ${state} past a deadline`;
  return undefined;
}

/** The facts for a successor, from the earlier row: A-2 and K-4. */
export function wrongHandover(
  grant: Grant,
  before: LeaseInspection | undefined,
  fromCheckpointBefore: boolean,
): string | undefined {
  const record = before?.record;
  if (grant.predecessor.fence !== record?.fence) {
    return `A-2: the predecessor of "${grant.key}" is ${grant.predecessor.fence}, not ${record?.fence}`;
  }
  const goBack = fromCheckpointBefore && record?.checkpointBefore !== undefined;
  const expected = goBack ? record.checkpointBefore : record?.checkpoint;
  if (!isSame(grant.checkpoint, expected)) {
    return `K-4: "${grant.key}" was handed over with another checkpoint than was last accepted`;
  }
  return undefined;
}

function isSame(one: Checkpoint | undefined, other: Checkpoint | undefined): boolean {
  return (
    one?.seq === other?.seq &&
    one?.digest === other?.digest &&
    Buffer.compare(one?.bytes ?? new Uint8Array(), other?.bytes ?? new Uint8Array()) === 0
  );
}
