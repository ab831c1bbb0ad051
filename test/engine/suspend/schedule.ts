// Decides which held call continues next. A schedule is a list of choices, and each list gives the
// same run every time. Exploring counts through all lists.

export class Schedule {
  readonly #script: readonly number[];
  readonly #taken: { readonly choice: number; readonly of: number }[] = [];
  #held: { readonly label: string; go(): void }[] = [];
  /** In the order in which they continued. */
  readonly trace: string[] = [];

  constructor(script: readonly number[]) {
    this.#script = script;
  }

  /** Waits for its turn. */
  pass(label: string): Promise<void> {
    return new Promise((go) => this.#held.push({ label, go }));
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  letOneGo(): void {
    const choice = this.#script[this.#taken.length] ?? 0;
    this.#taken.push({ choice, of: this.#held.length });
    const [next] = this.#held.splice(choice, 1);
    if (next === undefined) throw new Error(`a run is not repeatable: ${this.trace.join(', ')}`);
    this.trace.push(next.label);
    next.go();
  }

  /** The choices of the next run. Undefined after the last run. */
  next(): readonly number[] | undefined {
    const last = this.#taken.findLastIndex(({ choice, of }) => choice + 1 < of);
    if (last < 0) return undefined;
    const kept = this.#taken.slice(0, last).map(({ choice }) => choice);
    return [...kept, (this.#taken[last]?.choice ?? 0) + 1];
  }
}

/** Runs the scenario under every schedule, and returns how many there were. */
export async function everySchedule(run: (schedule: Schedule) => Promise<void>): Promise<number> {
  let count = 0;
  for (let script: readonly number[] | undefined = []; script !== undefined; ) {
    const schedule: Schedule = new Schedule(script);
    try {
      await run(schedule);
    } catch (cause) {
      throw new Error(`under the schedule ${schedule.trace.join(', ')}`, { cause });
    }
    count += 1;
    script = schedule.next();
  }
  return count;
}
