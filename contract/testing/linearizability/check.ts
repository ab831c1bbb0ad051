// Checks whether a history is linearizable.

import type { RecordedOperation, SequentialModel } from './history.ts';
import { LinearizationSearch } from './search.ts';

/**
 * The result of a check.
 *
 * - `linearizable`: each reply has an explanation.
 * - `violation`: one reply has none.
 * - `undecided`: too many orders are possible. Split the history, or record fewer concurrent calls.
 */
export type LinearizabilityResult<Input = unknown, Output = unknown> =
  | {
      readonly kind: 'linearizable';
      /** The number of calls checked. */
      readonly operations: number;
      /** The number of parts of the history. */
      readonly parts: number;
    }
  | LinearizabilityViolation<Input, Output>
  | {
      readonly kind: 'undecided';
      /** The part of the history, such as a key. */
      readonly part: string;
      /** The place where the check stopped, in words. */
      readonly message: string;
    };

/** A reply that no order of the calls explains. */
export interface LinearizabilityViolation<Input = unknown, Output = unknown> {
  /** Always `violation`. */
  readonly kind: 'violation';
  /** The part of the history, such as a key. */
  readonly part: string;
  /** The calls of that part. */
  readonly operations: readonly RecordedOperation<Input, Output>[];
  /** The call whose reply has no explanation. It is the first such reply in the order of time. */
  readonly failed: RecordedOperation<Input, Output>;
  /** The longest order that explains the replies before it. */
  readonly order: readonly RecordedOperation<Input, Output>[];
  /** The problem, in words. */
  readonly message: string;
  /** Returns a call and its reply in words. */
  describe(operation: RecordedOperation<Input, Output>): string;
}

const EXPLANATIONS_MAX = 200_000;

/**
 * The limits of each search. Most histories have an explanation within the first, and it is found
 * quickly. Only a reply without an explanation needs the last, which has no limits.
 */
const SEARCHES = [
  { lostInARow: 1, lostMs: 1_500 },
  { lostInARow: Number.POSITIVE_INFINITY, lostMs: 1_500 },
  { lostInARow: Number.POSITIVE_INFINITY, lostMs: Number.POSITIVE_INFINITY },
];

/**
 * Checks whether some order of the calls explains every reply. In such an order, each call takes
 * effect at one moment between its call and its reply. A call without a reply takes effect at any
 * later moment, or never.
 *
 * @example
 * const result = checkLinearizability(leaseModel(), leaseHistory(events));
 * if (result.kind === 'violation') console.error(result.message);
 */
export function checkLinearizability<State, Input, Output>(
  model: SequentialModel<State, Input, Output>,
  operations: readonly RecordedOperation<Input, Output>[],
): LinearizabilityResult<Input, Output> {
  const parts = model.partition?.(operations) ?? new Map([['', operations]]);
  for (const [part, own] of parts) {
    let problem: Problem<Input, Output> | undefined;
    for (const limits of SEARCHES) {
      problem = problemOf(model, { part, operations: own, ...limits });
      if (problem === undefined) break;
    }
    if (problem !== undefined) return problem;
  }
  return { kind: 'linearizable', operations: operations.length, parts: parts.size };
}

type Problem<Input, Output> = Exclude<
  LinearizabilityResult<Input, Output>,
  { readonly kind: 'linearizable' }
>;

function problemOf<State, Input, Output>(
  model: SequentialModel<State, Input, Output>,
  history: {
    readonly part: string;
    readonly operations: readonly RecordedOperation<Input, Output>[];
    readonly lostInARow: number;
    readonly lostMs: number;
  },
): Problem<Input, Output> | undefined {
  const { part, operations, lostInARow, lostMs } = history;
  const limits = { explanations: EXPLANATIONS_MAX, lostInARow, lostMs };
  const search = new LinearizationSearch(model, limits);
  const describe = (operation: RecordedOperation<Input, Output>): string =>
    model.describe?.(operation) ??
    `${JSON.stringify(operation.input)} → ${JSON.stringify(operation.reply?.output)}`;
  for (const { operation, isReply } of momentsOf(operations)) {
    if (!isReply) {
      search.call(operation);
      continue;
    }
    const problem = search.reply(operation);
    if (problem === undefined) continue;
    const reply = `the reply to ${operation.client}: ${describe(operation)}`;
    if (problem === 'too-many') {
      const message = `More than ${EXPLANATIONS_MAX} explanations are possible at ${reply}. The history was not checked further.`;
      return { kind: 'undecided', part, message };
    }
    const state = model.describeState?.(problem.state) ?? model.keyOf(problem.state);
    const calls = problem.order.length;
    const message = `No order of the calls explains ${reply}. The longest order without it has ${calls} calls. After them: ${state}.`;
    const { order } = problem;
    return { kind: 'violation', part, operations, failed: operation, order, message, describe };
  }
  return undefined;
}

interface Moment<Operation> {
  readonly operation: Operation;
  readonly at: number;
  readonly isReply: boolean;
}

/** Calls and replies by time. A call at the time of a reply counts as concurrent with it. */
export function momentsOf<Input, Output>(
  operations: readonly RecordedOperation<Input, Output>[],
): readonly Moment<RecordedOperation<Input, Output>>[] {
  return operations
    .flatMap((operation): readonly Moment<RecordedOperation<Input, Output>>[] => {
      const call = { operation, at: operation.calledAt, isReply: false };
      const { reply } = operation;
      return reply === undefined ? [call] : [call, { operation, at: reply.at, isReply: true }];
    })
    .sort((a, b) => a.at - b.at || Number(a.isReply) - Number(b.isReply));
}
