// Undoes the steps of an execution under a new claim, after replaying its code (Y-4, Y-5). Each
// compensation is a step with its own retries. History has the ones that already ran.

import type { TerminalStatus } from '../../execution/execution.ts';
import type { Failure } from '../../execution/failure.ts';
import type { CallKey } from '../../execution/names.ts';
import { present } from '../../support/options.ts';
import type { StepContext, UndoContext } from '../context.ts';
import { StepFailed } from '../failures.ts';
import { signalPosition } from '../values/place.ts';
import { ReceiveCall } from './calls/receive.ts';
import { StepCall } from './calls/step.ts';
import type { ClaimExit } from './claim-exit.ts';
import { type Offered, undoKeyOf, undoOrder } from './compensations.ts';
import type { Settlement } from './ledger.ts';
import type { Run } from './run.ts';

interface Step {
  readonly end: Settlement;
  readonly offered: Offered;
}

/** A signal to an execution that is undoing: an operator's decision about one compensation. */
export const UNDO_SIGNAL = 'holdfast.undo';

/** Stored as the value of a signal, so its field names stay. */
export interface UndoCommand {
  readonly act: 'skip' | 'retry';
  /** Name or key of the step. */
  readonly step: string;
  readonly reason: string;
  readonly by?: string;
}

interface Pending {
  readonly step: Step;
  readonly call: StepCall<unknown>;
  readonly promised: PromiseWithResolvers<unknown>;
}

export class Compensator {
  readonly #exit: ClaimExit;
  readonly #run: Run;
  readonly #pending: Map<CallKey, Pending> = new Map();
  readonly #skips: UndoCommand[] = [];
  /** Retries that operators requested during this claim. */
  readonly #retries: UndoCommand[] = [];
  #commands = 0;

  constructor(exit: ClaimExit) {
    this.#exit = exit;
    this.#run = exit.run;
  }

  async start(): Promise<void> {
    const { ledger, compensations } = this.#run;
    const steps: Step[] = [];
    for (const end of ledger.undoState.sagas) {
      const offered = compensations.offeredFor(end.body.key);
      if (offered === undefined) {
        this.#quarantine(missing(end.body.key));
        return;
      }
      steps.push({ end, offered });
    }
    this.#run.beginUndoing();
    await this.#recall();
    this.#listen();
    for (const batch of undoOrder(steps)) {
      const failures = await Promise.all(batch.map((step) => this.#undo(step)));
      const failure = failures.find((each) => each !== undefined);
      if (failure !== undefined) {
        this.#quarantine(failure);
        return;
      }
    }
    const { status, failure } = ledger.cause ?? { status: 'failed' };
    const cause = failure === undefined ? '' : `,"failure":${JSON.stringify(failure)}`;
    this.#finish('compensated', `"status":"${status}"${cause}`, failure);
  }

  /** Undefined when the compensation succeeded or was skipped. */
  async #undo({ end, offered }: Step): Promise<Failure | undefined> {
    const key = undoKeyOf(end.body.key);
    if (this.#skips.some((command) => concerns(command, { end, offered }))) return undefined;
    const before = this.#run.ledger.undoState.undone.find(({ body }) => body.key === key);
    if (before !== undefined)
      return before.kind === 'step-failed' ? givenUp(before, offered) : undefined;
    const outcome: UndoContext['outcome'] = end.kind === 'step-failed' ? 'unknown' : 'done';
    const place = this.#run.expectedCall(end.body.key);
    const output = await this.#run.payloads.decodeEnvelope(end.body.out ?? {}, place);
    const { compensation, name } = offered;
    const promised = Promise.withResolvers<unknown>();
    const plan = {
      key,
      name,
      // The engine ignores the result, so it need not be storable.
      fn: async (step: StepContext): Promise<void> => {
        await compensation.run(output, Object.assign(step, { outcome }));
      },
      retry: compensation.retry,
      timeoutMs: compensation.timeoutMs,
      heartbeatTimeoutMs: compensation.heartbeatTimeoutMs,
      circuit: compensation.circuit,
      compensation: undefined,
    };
    const call = new StepCall<unknown>(this.#run, plan, promised);
    this.#pending.set(key, { step: { end, offered }, call, promised });
    this.#run.admit(call);
    if (this.#retries.some((command) => concerns(command, { end, offered }))) call.retryNow();
    try {
      await promised.promise;
      return undefined;
    } catch (error) {
      if (error instanceof StepFailed) return error.failure;
      throw error;
    } finally {
      this.#pending.delete(key);
    }
  }

  /** Reads the operators' decisions from before this claim. */
  async #recall(): Promise<void> {
    for (const { kind, body } of this.#run.ledger.undoState.undone) {
      if (kind !== 'signal-received') continue;
      this.#commands += 1;
      const place = { position: signalPosition(UNDO_SIGNAL), isOpen: true };
      const command = (await this.#run.payloads.decodeEnvelope(
        body.out ?? {},
        place,
      )) as UndoCommand;
      if (command.act === 'skip') this.#skips.push(command);
    }
  }

  #listen(): void {
    this.#commands += 1;
    const promised = Promise.withResolvers<UndoCommand>();
    const key = `signal:${UNDO_SIGNAL}#${this.#commands}` as CallKey;
    const plan = { key, name: UNDO_SIGNAL, span: undefined };
    this.#run.admit(new ReceiveCall<UndoCommand>(this.#run, plan, promised));
    promised.promise
      .then((command) => {
        this.#listen();
        this.#apply(command);
      })
      .catch((error: unknown) => this.#run.troubled(error));
  }

  /** A skipped compensation counts as done. History has the actor and the reason (Y-5). */
  #apply(command: UndoCommand): void {
    (command.act === 'skip' ? this.#skips : this.#retries).push(command);
    for (const [key, { step, call, promised }] of this.#pending) {
      if (!concerns(command, step)) continue;
      if (command.act === 'retry') {
        call.retryNow();
        continue;
      }
      this.#run.calls.delete(key);
      call.drop();
      promised.resolve(undefined);
    }
  }

  #quarantine(failure: Failure): void {
    this.#finish('quarantined', `"failure":${JSON.stringify(failure)}`, failure);
  }

  #finish(status: TerminalStatus, field: string, failure: Failure | undefined): void {
    this.#exit.finish({ status, field, ...present({ failure }) });
  }
}

function concerns(command: UndoCommand, { end, offered }: Step): boolean {
  return command.step === offered.name || command.step === end.body.key;
}

function missing(key: CallKey): Failure {
  return {
    category: 'permanent',
    code: 'compensation-missing',
    message: `The code has no compensation for ${key}, which the history registers. The execution is quarantined. Deploy code that has it, and re-drive in mode "compensate".`,
    at: key,
  };
}

function givenUp({ body }: Settlement, { name }: Offered): Failure {
  return (
    body.failure ?? {
      category: 'permanent',
      code: 'compensation-failed',
      message: `The compensation of "${name}" failed without a recorded cause.`,
    }
  );
}
