// Converts the replies of scripts to kernel records. A record is JSON that scripts can read and
// write: no nulls, no empty lists, fences and seqs as digits, and no field named like a Lua
// keyword. This file also validates stored records: an unreadable one throws StoreCorrupt.

import type { LeaseEvent } from '../../lease/event.ts';
import { readExit } from '../../lease/exit.ts';
import { toFence } from '../../lease/fence.ts';
import type { Checkpoint, Drain, Intent, LeaseRecord, TermEnd } from '../../lease/lease.ts';
import type { AttemptId, LeaseKey, Owner, SessionId } from '../../lease/names.ts';
import type { SessionChain, SessionRecord } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';

type Ended = Omit<TermEnd, 'exit'> & { readonly exit: string };

interface StoredSession extends Omit<SessionRecord, 'metadata' | 'extended' | 'end'> {
  /** Nested JSON, so that scripts need not parse it. */
  readonly metadata: string;
  readonly extended?: boolean;
  readonly ended?: Ended;
}

interface StoredCheckpoint extends Omit<Checkpoint, 'bytes' | 'fence' | 'seq'> {
  readonly fence: string;
  readonly seq: string;
  /** The slot for its bytes, one of two. */
  readonly slot: 'a' | 'b';
}

interface StoredLease {
  readonly key: LeaseKey;
  readonly fence: string;
  readonly session: SessionId;
  readonly owner: Owner;
  readonly attempt: AttemptId;
  readonly rev: number;
  readonly grantedAt: Instant;
  readonly hardDeadlineAt?: Instant;
  /** Stored with `by` for the actor. */
  readonly drain?: Omit<Drain, 'actor'> & { readonly by: string };
  readonly ended?: Ended;
  readonly predecessor: Omit<LeaseRecord['predecessor'], 'exit' | 'fence'> & {
    readonly exit: string;
    readonly fence?: string;
  };
  readonly checkpoint?: StoredCheckpoint;
  readonly before?: StoredCheckpoint;
  readonly losses: number;
  readonly intents?: readonly (Omit<Intent, 'fence'> & { readonly fence: string })[];
  readonly reservation?: { readonly owner: Owner; readonly endsAt: Instant };
}

/** A lease in a script's reply: the record, and the bytes of both checkpoints if requested. */
export interface LeaseReply {
  readonly record: Buffer | null;
  readonly bytes?: Buffer | null;
  readonly before?: Buffer | null;
}

const NO_BYTES = new Uint8Array(0);

function toSession(text: Buffer): SessionRecord {
  const { metadata, extended, ended, ...rest } = parse<StoredSession>(text, 'session');
  return {
    ...rest,
    metadata: parse(metadata, 'metadata of a session'),
    extended: extended === true,
    ...(ended === undefined ? {} : { end: { ...ended, exit: readExit(ended.exit) } }),
  };
}

export function toChain(texts: readonly Buffer[]): SessionChain {
  return texts.map(toSession);
}

export function toLease(reply: LeaseReply): LeaseRecord | undefined {
  if (reply.record === null) return undefined;
  const stored = parse<StoredLease>(reply.record, 'lease');
  const { ended, drain, predecessor, checkpoint, before, ...more } = stored;
  const { losses, intents, reservation, ...rest } = more;
  const { exit, fence, ...known } = predecessor;
  return {
    ...rest,
    fence: toFence(Number(stored.fence)),
    ...(drain === undefined ? {} : { drain: toDrain(drain) }),
    ...(ended === undefined ? {} : { end: { ...ended, exit: readExit(ended.exit) } }),
    predecessor: {
      ...known,
      exit: readExit(exit),
      ...(fence === undefined ? {} : { fence: toFence(Number(fence)) }),
    },
    ...(checkpoint === undefined ? {} : { checkpoint: toCheckpoint(checkpoint, reply.bytes) }),
    ...(before === undefined ? {} : { checkpointBefore: toCheckpoint(before, reply.before) }),
    lossesSinceCheckpoint: losses,
    intents: (intents ?? []).map((each) => ({ ...each, fence: toFence(Number(each.fence)) })),
    ...(reservation === undefined
      ? {}
      : { reservation: { for: reservation.owner, until: reservation.endsAt } }),
  };
}

function toDrain({ by, ...rest }: NonNullable<StoredLease['drain']>): Drain {
  return { ...rest, actor: by };
}

function toCheckpoint(stored: StoredCheckpoint, bytes: Buffer | null | undefined): Checkpoint {
  const { slot: _, fence, seq, ...rest } = stored;
  if (bytes === null)
    throw new StoreCorrupt(
      `The bytes of checkpoint ${seq} are missing in Redis. Restore the store from a backup.`,
    );
  return {
    ...rest,
    seq: Number(seq),
    fence: toFence(Number(fence)),
    bytes:
      bytes === undefined
        ? NO_BYTES
        : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
}

/** An entry of the stream. Its id is the seq, and its one field is the event. */
export type StreamEntry = readonly [id: Buffer, fields: readonly Buffer[]];

export function toEvent([id, fields]: StreamEntry): LeaseEvent {
  const { fence, ...rest } = parse<{ readonly fence?: string }>(
    fields[1] ?? Buffer.from(''),
    'event',
  );
  const seq = Number.parseInt(id.toString(), 10);
  return {
    seq,
    ...rest,
    ...(fence === undefined ? {} : { fence: toFence(Number(fence)) }),
  } as LeaseEvent;
}

function parse<Value>(text: Buffer | string, what: string): Value {
  try {
    return JSON.parse(text.toString()) as Value;
  } catch (cause) {
    throw new StoreCorrupt(`A ${what} is not JSON: ${text.toString().slice(0, 80)}`, { cause });
  }
}
