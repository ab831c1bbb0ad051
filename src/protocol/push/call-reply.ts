// Verifies an endpoint's result: signed, not expired, and about the claim of the call.

import { Compile } from 'typebox/compile';
import type { Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { digestOf } from '../../support/digest.ts';
import { present } from '../../support/options.ts';
import { type PushResult, pushResult } from '../messages/push.ts';
import type { Signer } from '../messages/signing.ts';
import type { WriteMessage } from '../messages/work.ts';
import type { Caller, Coordinator } from '../rest/route.ts';
import { perform, toWrite } from '../rest/work-writes.ts';

export type ParsedReply =
  | { readonly kind: 'result'; readonly result: PushResult }
  | { readonly kind: 'unknown'; readonly why: string };

const RESULT = Compile(pushResult);

/** The reply to a probe must repeat its nonce. */
export function probedFrom(
  signer: Signer,
  text: string,
  { nonce, nowMs }: { readonly nonce: string; readonly nowMs: number },
): ParsedReply {
  const parsed = parseReply(signer, text, nowMs);
  if (parsed.kind === 'unknown') return parsed;
  const { denied, nonce: of } = parsed.result;
  if (of !== nonce) return unknown('its response belongs to another probe');
  return denied === undefined ? parsed : unknown(denied);
}

function parseReply(signer: Signer, text: string, nowMs: number): ParsedReply {
  const verified = verifiedFrom(signer, text, nowMs);
  if (verified.kind === 'invalid') return unknown(verified.why);
  if (verified.kind === 'expired') return unknown('its result has expired');
  const result: unknown = verified.claims;
  if (!RESULT.Check(result)) {
    const [first] = RESULT.Errors(result);
    return unknown(`its result is not valid: ${first?.instancePath} ${first?.message}`);
  }
  return { kind: 'result', result };
}

export function resultFrom(
  signer: Signer,
  text: string,
  { claimed, nowMs }: { readonly claimed: Claimed; readonly nowMs: number },
): ParsedReply {
  const parsed = parseReply(signer, text, nowMs);
  if (parsed.kind === 'unknown') return parsed;
  const { result } = parsed;
  const { execution, fence } = claimed;
  const isOfClaim = ({ id, fence: of }: { id?: string; fence?: number }): boolean =>
    id === execution.id && of === fence;
  const { writes = [], blobs = [] } = result;
  if (![result, ...writes].every(isOfClaim)) return unknown('its result belongs to another claim');
  const isComplete = blobs.every(
    ({ digest, bytes }) => digestOf(Buffer.from(bytes, 'base64')) === digest,
  );
  return isComplete ? { kind: 'result', result } : unknown('a value does not have its digest');
}

function verifiedFrom(signer: Signer, text: string, nowMs: number) {
  try {
    return signer.verify(text, { to: 'coordinator', nowMs });
  } catch {
    return { kind: 'invalid', why: 'its response cannot be parsed' } as const;
  }
}

function unknown(why: string): ParsedReply {
  return { kind: 'unknown', why };
}

// Writes the result of an endpoint, in its order.

/**
 * `failed`: the exit is not certain, so the coordinator must end the claim. `unread`: the coordinator
 * gives the claim back in its current state.
 */
export type Written =
  | { readonly kind: 'over' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'unread'; readonly claimed: Claimed; readonly why: string };

interface Answered extends Pick<PushResult, 'writes' | 'blobs'> {
  readonly session: Session;
  readonly claimed: Claimed;
}

/**
 * A refusal ends the claim: another worker has it, or new messages arrived and the next claim
 * handles them.
 */
export async function writeResult(
  coordinator: Coordinator,
  caller: Caller,
  { session, claimed, writes = [], blobs = [] }: Answered,
): Promise<Written> {
  const { executions } = coordinator.store;
  const { project } = caller;
  for (const { digest, bytes } of blobs) {
    await executions.putBlob({ project, digest, bytes: Buffer.from(bytes, 'base64') });
  }
  for (const message of merged(writes)) {
    const write = toWrite({ ...message, session: session.id }, caller);
    const { results } = await perform(coordinator, { caller, transport: 'push' }, [write]);
    const { kind, why } = (results[0] ?? { kind: 'fault' }) as { kind: string; why?: string };
    if (why === 'unread-messages') {
      const { seq, verb } = message;
      const compensable = 'compensable' in message && message.compensable === true;
      const execution = { ...claimed.execution, seq: seq - 1, compensable };
      const held = { ...claimed, execution };
      return { kind: 'unread', claimed: held, why: `messages arrived before its ${verb}` };
    }
    if (kind === 'refused' || kind === 'fault') return failed(`its ${message.verb} was refused`);
  }
  // A result without an exit would leave the claim without an owner for as long as its session
  // lives.
  const now = await executions.read(claimed.execution.id);
  const isOver = now?.status !== 'running' || now.fence !== claimed.fence;
  return isOver ? { kind: 'over' } : failed('its result did not end the claim');
}

function failed(why: string): Written {
  return { kind: 'failed', why };
}

// Merges successive writes into one commit. A write that new messages may cause to be refused stays
// separate, so that the refusal does not discard earlier writes.

const BY_ITSELF: ReadonlySet<string> = new Set(['park', 'giveBack']);

export function merged(writes: readonly WriteMessage[]): readonly WriteMessage[] {
  const all: WriteMessage[] = [];
  for (const write of writes) {
    const before = all.at(-1);
    const follows = before?.verb === 'record' && before.seq + before.events.length === write.seq;
    if (before === undefined || !follows || BY_ITSELF.has(write.verb)) all.push(write);
    else all.splice(-1, 1, { ...write, ...together(before, write) });
  }
  return all;
}

type Content = Pick<WriteMessage, 'seq' | 'events'> &
  Partial<
    Pick<
      WriteMessage,
      'children' | 'awaits' | 'attachments' | 'attributes' | 'progress' | 'heartbeats'
    >
  >;

function together(one: WriteMessage, other: WriteMessage): Content {
  const progress = other.progress ?? one.progress;
  const heartbeats = other.heartbeats ?? one.heartbeats;
  const attributes = other.attributes ?? one.attributes;
  const lists = (['children', 'awaits', 'attachments'] as const).flatMap((name) => {
    const items = [...(one[name] ?? []), ...(other[name] ?? [])];
    return items.length === 0 ? [] : [[name, items] as const];
  });
  return {
    seq: one.seq,
    events: [...one.events, ...other.events],
    ...Object.fromEntries(lists),
    ...present({ progress, heartbeats, attributes }),
  };
}
