// Histories of concurrent calls, and the models that must explain them.

/**
 * One call of a client, and its reply.
 *
 * All times of a history come from one clock, in milliseconds. Processes of one machine share its
 * monotonic clock.
 */
export interface RecordedOperation<Input, Output> {
  /** The client. Its calls have a lane of their own in the drawing. */
  readonly client: string;
  /** The request. */
  readonly input: Input;
  /** The time before the client sent it. */
  readonly calledAt: number;
  /**
   * The reply. Absent if the outcome is unknown. Such a call takes
   * effect at any time after `calledAt`, or never.
   */
  readonly reply?: {
    /** The time after it arrived. */
    readonly at: number;
    /** The output that the client got. */
    readonly output: Output;
  };
}

/**
 * A description of how an object behaves when its calls come one after another.
 *
 * @example
 * const register: SequentialModel<number, number | 'read', number | 'done'> = {
 *   initial: 0,
 *   step: (value, { input, reply }) => {
 *     if (input !== 'read') return [input];
 *     return reply === undefined || reply.output === value ? [value] : [];
 *   },
 *   keyOf: String,
 * };
 */
export interface SequentialModel<State, Input, Output> {
  /** The state before the first call. */
  readonly initial: State;
  /**
   * Returns the states in which the call may leave the object, if it is in `state` and replies as
   * recorded. Returns none if it cannot reply so. Without a reply, every reply is possible. The call
   * takes effect between its `calledAt` and `before`.
   */
  step(state: State, operation: RecordedOperation<Input, Output>, before: number): readonly State[];
  /** Returns a text that only equal states share. */
  keyOf(state: State): string;
  /**
   * Returns true for a call that, with this reply, has no effect of its own, such as a read or a
   * refusal. Without a reply: with every reply. This only makes the check faster. Default: false.
   */
  changesNothing?(operation: RecordedOperation<Input, Output>): boolean;
  /**
   * Returns true if no other client can notice when the call takes effect, such as the heartbeat of
   * a session that holds nothing. This only makes the check faster. Default: false.
   */
  isUnobserved?(state: State, operation: RecordedOperation<Input, Output>): boolean;
  /** Splits a history into parts that do not affect each other. Default: one part. */
  partition?(
    operations: readonly RecordedOperation<Input, Output>[],
  ): ReadonlyMap<string, readonly RecordedOperation<Input, Output>[]>;
  /** Returns the call and its reply in words, for the drawing. Default: their JSON. */
  describe?(operation: RecordedOperation<Input, Output>): string;
  /** Returns a state in words, for the drawing. Default: its key. */
  describeState?(state: State): string;
}
