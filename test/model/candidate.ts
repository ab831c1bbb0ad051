// A model that explains every answer of the store so far. After concurrent commands there can be
// several, one for each order that would have given the same answers.

import { isDeepStrictEqual } from 'node:util';
import { ManualClock } from '../../contract/index.ts';
import type { EventSeq, LeaseEvent } from '../../src/lease/event.ts';
import type { LeaseKey } from '../../src/lease/names.ts';
import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { type Command, perform, withFence } from './command.ts';
import { openLeaseModel } from './lease/open.ts';
import { bySubject, eventsAfter, type Observed, observe } from './observe.ts';
import { Renaming } from './renaming.ts';
import { difference } from './show.ts';
import { newFence } from './world.ts';

/** The store's answers to a batch, and the observable state afterwards. */
export interface Evidence {
  readonly commands: readonly Command[];
  readonly answers: readonly unknown[];
  readonly events: readonly LeaseEvent[];
  readonly observed: Observed;
}

/**
 * Runs after concurrent commands, on both sides. An acquire records overdue sessions and ended
 * terms even if it is refused. Afterwards it cannot be seen which command did so.
 */
export const TIDY_UP: Command = { verb: 'sweep', request: { limit: 100 } };

export interface ModelStart {
  readonly policy: Partial<LeasePolicy>;
  readonly startMs: number;
  readonly keys: readonly LeaseKey[];
}

export class Candidate {
  readonly #start: ModelStart;
  readonly #clock: ManualClock;
  readonly #model: KernelStore;
  readonly #renaming: Renaming;
  /** In the model's own fences: the commands that lead to this state. */
  readonly #log: Command[] = [];
  #eventSeq: EventSeq = 0;

  constructor(start: ModelStart, renaming: Renaming = new Renaming()) {
    this.#start = start;
    this.#clock = new ManualClock(start.startMs);
    this.#model = openLeaseModel(this.#clock, start.policy);
    this.#renaming = renaming;
  }

  /** Another model in the same state, by the same commands. */
  async fork(): Promise<Candidate> {
    const copy = new Candidate(this.#start, new Renaming(this.#renaming));
    for (const command of this.#log) await copy.#do(command);
    copy.#eventSeq = this.#eventSeq;
    return copy;
  }

  /** Runs the batch in this order. Returns the contradiction to the store's evidence, if any. */
  async explain(evidence: Evidence, order: readonly number[]): Promise<string | undefined> {
    for (const index of order) {
      const command = evidence.commands[index];
      if (command === undefined) continue;
      const problem = await this.#explainOne(command, evidence.answers[index], order.length > 1);
      if (problem !== undefined) return problem;
    }
    if (order.length > 1) await this.#do(TIDY_UP);
    const { events, next } = await eventsAfter(this.#model, this.#eventSeq);
    this.#eventSeq = next;
    const renamed = this.#renaming.answer(bySubject(events));
    const seen = this.#renaming.answer(await observe(this.#model, this.#start.keys));
    return (
      unlike('events', renamed, bySubject(evidence.events)) ??
      unlike('state afterwards', seen, evidence.observed)
    );
  }

  async #explainOne(
    command: Command,
    answer: unknown,
    isAmongOthers: boolean,
  ): Promise<string | undefined> {
    const expected = await this.#do(withFence(command, this.#renaming.toModel));
    const [model, store] = [newFence(expected), newFence(answer)];
    if (model !== undefined && store !== undefined) {
      const problem = this.#renaming.pair(model, store);
      if (problem !== undefined) return problem;
    }
    if (isAmongOthers && isOfSeveralMoments(command, expected, answer)) return undefined;
    return unlike(`answer to ${command.verb}`, this.#renaming.answer(expected), answer);
  }

  async #do(command: Command): Promise<unknown> {
    this.#log.push(command);
    if (command.verb === 'advance') this.#clock.jumpWall(command.ms);
    return perform(this.#model, command);
  }
}

/**
 * The parts of a sweep are separate transactions, so other commands come between them. A queued
 * answer has a reason and a place from two reads. So only their final effect counts.
 */
function isOfSeveralMoments(command: Command, expected: unknown, answer: unknown): boolean {
  return command.verb === 'sweep' || (isQueued(expected) && isQueued(answer));
}

function isQueued(answer: unknown): boolean {
  return (answer as { readonly kind?: string } | undefined)?.kind === 'queued';
}

function unlike(what: string, expected: unknown, actual: unknown): string | undefined {
  if (isDeepStrictEqual(expected, actual)) return undefined;
  return `${what}:\n${difference(expected, actual)}`;
}
