// The last heartbeats of the steps of a run that have not ended, the states of its leases
// and whether it is in a scope. The journal takes them with its next write, so they cost at most one write a
// second. The end of a step removes its heartbeat in the write that records the end.

import { SCOPE_CALL, type StepHeartbeat } from '../../execution/execution.ts';
import type { CallKey, Payload } from '../../execution/names.ts';
import { LEASE_CALL } from '../../features/leases/model.ts';
import { ignored } from './guarded.ts';
import type { Run } from './run.ts';

/** The row keeps the heartbeats of this many steps: those that sent one last. */
const STEPS_MAX = 100;

export class RunHeartbeats {
  readonly #run: Run;
  #isChanged = false;
  /** True if the store knows that the code is in a scope. */
  #isScopeStored = false;
  #steps: Map<CallKey, StepHeartbeat> | undefined;
  #hasAdvanced = false;

  constructor(run: Run) {
    this.#run = run;
    const { heartbeats } = run.claimed.execution;
    if (heartbeats === undefined) return;
    // The owner before this one waited for those leases, or held them.
    const kept = heartbeats.filter(({ key }) => !key.startsWith(LEASE_CALL));
    this.#isScopeStored = kept.some(({ key }) => key === SCOPE_CALL);
    const steps = kept.filter(({ key }) => key !== SCOPE_CALL);
    this.#steps = new Map(steps.map((each) => [each.key, each]));
    this.#isChanged = kept.length < heartbeats.length;
  }

  /** True if the store does not have the current ones. */
  get isChanged(): boolean {
    return this.#isChanged || this.#isInScope !== this.#isScopeStored;
  }

  /** The store refused a write that contained them. */
  putBack(): void {
    this.#isChanged = true;
  }

  /** A replay passes through scopes that ended long ago. */
  get #isInScope(): boolean {
    const { scopes, isReplaying } = this.#run;
    return isReplaying ? this.#isScopeStored : scopes.size > 0;
  }

  of(key: CallKey): StepHeartbeat | undefined {
    return this.#steps?.get(key);
  }

  /** `hasAdvanced`: the step has got further than the details that its attempt began with. */
  note(heartbeat: StepHeartbeat, hasAdvanced: boolean): void {
    const steps = this.#steps ?? new Map<CallKey, StepHeartbeat>();
    this.#steps = steps;
    steps.delete(heartbeat.key);
    const [oldest] = steps.keys();
    if (steps.size >= STEPS_MAX && oldest !== undefined) steps.delete(oldest);
    steps.set(heartbeat.key, heartbeat);
    this.#isChanged = true;
    if (hasAdvanced && !this.#hasAdvanced) this.#advance(heartbeat);
    this.#run.journal.reportHeartbeats();
  }

  /** Call this in the turn in which the journal gets the end of the step. */
  end(key: CallKey): void {
    if (this.#steps?.delete(key) === true) this.#isChanged = true;
  }

  /** For the next write. Undefined if the store has the current ones. */
  take(): readonly StepHeartbeat[] | undefined {
    if (!this.isChanged) return undefined;
    this.#isChanged = false;
    this.#isScopeStored = this.#isInScope;
    const steps = [...(this.#steps?.values() ?? [])];
    if (!this.#isScopeStored) return steps;
    return [...steps, { key: SCOPE_CALL, attempt: 1, at: this.#run.storeNow() }];
  }

  /** An event shows that this claim got further. Replays skip it, like a line of a step. */
  #advance({ key, attempt }: StepHeartbeat): void {
    this.#hasAdvanced = true;
    const body = JSON.stringify({ log: `${key} advanced in attempt ${attempt}`, inside: true });
    const event = { kind: 'progressed', body: body as Payload } as const;
    this.#run.journal.append({ event, stored: ignored });
  }
}
