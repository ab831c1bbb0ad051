// Ids of executions are UUIDs of version 7: later ids sort later, and no id can be guessed in
// advance. The id of an interaction follows from the await that opens it.

import { createHash } from 'node:crypto';
import { SEQ_MAX } from '../execution/history.ts';
import {
  type CallKey,
  type ExecutionId,
  type InteractionId,
  parseExecutionId,
} from '../execution/names.ts';
import { type Clock, type Instant, toInstant } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, integerOption, rejectUnknownOptions, shown } from '../support/options.ts';
import type { Random } from '../support/random.ts';

/** Ids rise within a process, even within a millisecond, so later submissions sort later. */
export class ExecutionIds {
  readonly #clock: Clock;
  readonly #random: Random;
  #ms = 0;
  #count = 0;
  #written = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The time comes first, then a counter of 12 bits, and a random UUID fills the rest. */
  next(): ExecutionId {
    const ms = Math.trunc(this.#clock.wallMs());
    if (ms > this.#ms) {
      this.#ms = ms;
      this.#count = 0;
    } else {
      this.#count += 1;
    }
    // The counter is used up, or the clock went back: borrow the next millisecond.
    if (this.#count > COUNT_MAX) {
      this.#ms += 1;
      this.#count = 0;
    }
    const count = this.#count.toString(16).padStart(3, '0');
    return `${timePrefix(this.#ms)}-7${count}${this.#random.uuid().slice(18)}` as ExecutionId;
  }

  /**
   * Ids for rows that an owner's write creates, as if created at `at`. History keeps the id. It ends
   * in 48 random bits because other clients could take an id that follows from the call.
   *
   * A counter of 24 bits comes before them: rows of one millisecond queue in the order of their ids,
   * and the children of a call start in its order.
   */
  nextAt(at: Instant): ExecutionId {
    this.#written = (this.#written + 1) % 0x100_0000;
    const count = this.#written.toString(16).padStart(6, '0');
    const rest = this.#random.uuid().slice(24);
    return `${timePrefix(at)}-7${count.slice(0, 3)}-8${count.slice(3)}-${rest}` as ExecutionId;
  }
}

const COUNT_MAX = 0xfff;

/** A time of the caller, in milliseconds since 1970. */
export function instantOf(name: string, ms: number): Instant {
  return toInstant(integerOption(name, ms, { min: 0, max: MS_MAX }));
}

/** The last time that an id can have. */
const MS_MAX = 2 ** 48 - 1;

/** Sorts below every id created at this time or later. */
export function earliestId(at: Instant): ExecutionId {
  return `${timePrefix(at)}-0000-0000-000000000000` as ExecutionId;
}

/** Names one question that an execution asks, before or after it has asked. */
export interface InteractionPlace {
  /** The id of the execution. */
  readonly execution: string;
  /** The name that the code passes to `ctx.await`. */
  readonly name: string;
  /** How many times the execution has awaited this name, this one included. Default 1. */
  readonly occurrence?: number;
  /** The index of the item, from 0. Default 0. */
  readonly item?: number;
}

export interface ResolvedPlace {
  readonly execution: ExecutionId;
  readonly call: CallKey;
  readonly item: number;
}

/**
 * Returns the id of a question that an execution asks. You can compute and answer it before the
 * execution asks.
 *
 * Throws `InvalidInput` if a part is missing or invalid.
 *
 * @example
 * const id = interactionId({ execution: handle.id, name: 'approve' });
 */
export function interactionId(place: InteractionPlace): InteractionId {
  return interactionIdOf(resolvedPlace(place));
}

/** Sorts with its execution. Two executions never share an interaction id (W-11). */
export function interactionIdOf({ execution, call, item }: ResolvedPlace): InteractionId {
  const derived = derivedUuid(`${execution}/${call}/${item}`);
  return `${execution.slice(0, 13)}-7${derived.slice(15)}` as InteractionId;
}

export function resolvedPlace(place: InteractionPlace): ResolvedPlace {
  rejectUnknownOptions('An interaction', place, ['execution', 'name', 'occurrence', 'item']);
  const name = boundedText('The name of an await', place.name, 256);
  const range = { min: 1, max: Number.MAX_SAFE_INTEGER };
  const occurrence = integerOption('occurrence', place.occurrence ?? 1, range);
  return {
    execution: parseExecutionId(place.execution),
    call: `await:${name}#${occurrence}` as CallKey,
    item: integerOption('item', place.item ?? 0, { min: 0, max: SEQ_MAX }),
  };
}

/** How others name a question whose id they do not know (W-14). */
const CORRELATION_PREFIX = 'correlation:';

/** The correlation that a target names. Undefined if it names none. */
export function correlationOf(target: unknown): string | undefined {
  if (typeof target !== 'string' || !target.startsWith(CORRELATION_PREFIX)) return undefined;
  return boundedText('correlation', target.slice(CORRELATION_PREFIX.length), 256);
}

export function parseInteractionId(value: unknown): InteractionId {
  if (typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) {
    return value as InteractionId;
  }
  throw new InvalidInput(
    `An interaction must be an id, "correlation:" and its correlation, or { execution, name }; got ${shown(value)}.`,
  );
}

function timePrefix(ms: number): string {
  const time = Math.max(0, Math.trunc(ms)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8, 12)}`;
}

/** Version 8: derived from a name, so the same name always yields the same UUID. */
export function derivedUuid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
