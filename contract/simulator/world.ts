// One run: the processes, the store between them, and everything that was observed. Workloads act
// in it, faults disturb it, and checkers judge it.

import { epochOf, type Fence } from '../../src/lease/fence.ts';
import { DEFAULT_POLICY, type LeasePolicy } from '../../src/lease/policy.ts';
import type { Coordinator } from '../../src/protocol/rest/route.ts';
import { STATUS_CODES } from '../../src/store/execution-rows.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import { portsOf } from '../../src/store/sqlite/ports.ts';
import { Fault } from '../../src/support/fault.ts';
import type { Random } from '../../src/support/random.ts';
import { atEndOfTurn } from '../../src/support/timer.ts';
import { Actor, type Start } from './actor.ts';
import type { DiskImage, SimulatedDisk } from './disk.ts';
import { FAIR_WEATHER, type StoreCall, StoreLink, type StoreServer } from './link.ts';
import { SimulatedProcess, streamOf } from './process.ts';
import { Scheduler } from './scheduler.ts';

/** A broken rule, in plain words. */
export interface Violation {
  /** The promise or the rule of a specification, by its id. */
  readonly rule: string;
  /** The actors, the keys and the numbers. */
  readonly text: string;
  /** Milliseconds from the start of the run. */
  readonly atMs: number;
}

/** Watches a run and judges it. Each method is optional. */
export interface Checker {
  readonly name: string;
  /** Called in the event in which the store has handled a call. */
  handled?(call: StoreCall): void;
  /** Called after all calls of one event. */
  settled?(): void;
  /** Called when a backup replaced the store. */
  restored?(): void;
  /** Called when a backup was made. */
  backedUp?(): void;
  /** Called when the run has become quiet. */
  ended?(): Promise<void>;
}

/** Operations and faults begin within this time. */
export const ACTIVE_MS = 8_000;

/** Much more than a holder of these workloads saves. */
export const CHECKPOINT_BYTES_MAX = 1_000;

const RESTORE_MS = 200;

/** A clock may be this much faster or slower than another: the drift that holders allow for. */
const DRIFT = 400e-6;
const SKEW_MS = 60_000;

export class World implements StoreServer {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly disk: SimulatedDisk;
  readonly host: SimulatedProcess;
  readonly policy: LeasePolicy;
  readonly links: Set<StoreLink> = new Set();
  readonly wakeupsLost: number;
  /** True if the transport between workers and coordinators may deliver a message twice (M-1). */
  readonly doublesMessages: boolean;
  readonly actors: Map<string, Actor<unknown>> = new Map();
  readonly coordinators: Actor<Coordinator>[] = [];
  readonly checkers: Checker[] = [];
  readonly violations: Violation[] = [];
  readonly trace: string[] = [];
  /** Calls of Holdfast that workloads made. */
  operations = 0;
  /** The number of times that a fault met a state: `store-restart × running`. */
  readonly coverage: Map<string, number> = new Map();
  /** Until when the promises that need a store with one continuous clock do not hold. */
  isContinuous = true;
  /** The store's clock was never set, so its sessions end in time. */
  isSteady = true;
  /** The end of the last fault so far. */
  disturbedUntilMs = 0;
  /** The number of times that a backup replaced the store. */
  restores = 0;
  #backup: DiskImage | undefined;
  /** The intervals at which workers send heartbeats and poll. */
  pace = { ttlMs: 3_000, pollMs: 1_700 };
  readonly #finishing: (() => Promise<void>)[] = [];
  #lives = 0;
  #handled: StoreCall[] = [];
  #reader: ReturnType<typeof portsOf> | undefined;

  constructor(seed: number, disk: SimulatedDisk) {
    this.seed = seed;
    this.disk = disk;
    disk.reset();
    this.scheduler = new Scheduler(streamOf(seed, 'order'), () => this.#judge());
    this.host = new SimulatedProcess(this.scheduler, { name: 'store', seed });
    const random = streamOf(seed, 'policy');
    this.wakeupsLost = pick(random, [0, 0.1, 1]);
    this.doublesMessages = random.next() < 0.5;
    this.policy = {
      ...DEFAULT_POLICY,
      recoveryGraceMs: pick(random, [0, 1_000]),
      reservationMs: 1_000,
      flapUnitMs: pick(random, [0, 500]),
      breakerWindowMs: 2_000,
      breakerHoldMs: 1_000,
      checkpointBytesMax: CHECKPOINT_BYTES_MAX,
      intentsMax: 8,
      ticketMs: pick(random, [1_000, 30_000]),
      retentionMs: pick(random, [3_000, DEFAULT_POLICY.retentionMs]),
    };
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  /** Adds an actor that a crash ends and a restart begins again. */
  actor<Inside>(name: string, start: Start<Inside>): Actor<Inside> {
    const actor = new Actor(this, name, start);
    this.actors.set(name, actor as Actor<unknown>);
    return actor;
  }

  /** A new process with its own link to the store. */
  process(name: string): { readonly process: SimulatedProcess; readonly link: StoreLink } {
    this.#lives += 1;
    const { seed } = this;
    const random = streamOf(seed, `clock of ${name} ${this.#lives}`);
    const process = new SimulatedProcess(this.scheduler, {
      ...{ name: `${name}.${this.#lives}`, seed },
      rate: 1 + (2 * random.next() - 1) * DRIFT,
      skewMs: (2 * random.next() - 1) * SKEW_MS,
    });
    return { process, link: new StoreLink(this, process) };
  }

  /** The store without a network and without delays, for checkers. */
  get reader(): ReturnType<typeof portsOf> {
    this.#reader ??= this.#openReader();
    return this.#reader;
  }

  #openReader(): ReturnType<typeof portsOf> {
    const { clock, timers, random } = this.host;
    const parts = { clock, timers: { ...timers, soon: atEndOfTurn }, random };
    const { policy } = this;
    return portsOf(
      new Database(this.disk.connectReliably(), { ...parts, policy, busyTimeoutMs: 0 }),
    );
  }

  observe(call: StoreCall): void {
    this.#handled.push(call);
  }

  /** Replies of one commit arrive in any order; checkers get them in the order of the transactions. */
  #judge(): void {
    if (this.#handled.length === 0) return;
    const handled = this.#handled.sort((a, b) => a.order - b.order);
    this.#handled = [];
    for (const call of handled) {
      for (const checker of this.checkers) checker.handled?.(call);
    }
    for (const checker of this.checkers) checker.settled?.();
  }

  stream(name: string): Random {
    return streamOf(this.seed, name);
  }

  /** Runs code in a process. If it throws, the process only stops this task. */
  run(process: SimulatedProcess, task: () => Promise<unknown>): void {
    this.scheduler.after(0, process, () => {
      task().catch((fault: unknown) => {
        if (!(fault instanceof Fault))
          this.violate('code', `${process.name}: ${fault instanceof Error ? fault.stack : fault}`);
      });
    });
  }

  note(line: string): void {
    this.trace.push(`${this.nowMs.toFixed(1)} ms: ${line}`);
  }

  violate(rule: string, text: string): void {
    this.violations.push({ rule, text, atMs: Math.round(this.nowMs) });
    this.note(`VIOLATION of ${rule}: ${text}`);
  }

  /** Runs after a while, whatever becomes of processes. */
  after(ms: number, run: () => void): void {
    this.scheduler.after(ms, undefined, run);
  }

  disturb(forMs: number): void {
    this.disturbedUntilMs = Math.max(this.disturbedUntilMs, this.nowMs + forMs);
  }

  /** P2 and P4 need a store whose clock runs evenly. */
  stepStoreClock(ms: number): void {
    this.isSteady = false;
    if (ms > 0) this.isContinuous = false;
    this.host.stepWall(ms);
  }

  backUp(): void {
    this.#backup = this.disk.image();
    for (const checker of this.checkers) checker.backedUp?.();
  }

  /** As the guide says: stop all processes, restore, raise the epoch, start them. */
  restore(): void {
    if (this.#backup === undefined) return;
    this.note('The backup takes the place of the store.');
    this.isContinuous = false;
    this.isSteady = false;
    this.restores += 1;
    for (const actor of this.actors.values()) actor.crash(RESTORE_MS);
    const [last] = this.disk.rows<{ fence: Fence }>('select fence from meta');
    this.disk.restore(this.#backup);
    for (const checker of this.checkers) checker.restored?.();
    this.run(this.host, () => this.#raiseEpoch(last === undefined ? 0 : epochOf(last.fence)));
  }

  /** The backup may be older than another restore, so one raise may not be enough. */
  async #raiseEpoch(above: number): Promise<void> {
    const request = { actor: 'operator', reason: 'restored from a backup' };
    while ((await this.reader.raiseEpoch(request)).epoch <= above);
  }

  /** Counts that a fault met the state of its surroundings. */
  cover(kind: string, actor?: Actor<unknown>): void {
    const states = [
      ...(actor === undefined ? [] : [actor.name.replace(/-\d+$/, '')]),
      ...this.disk
        .rows<{ status: number }>('select distinct status from execution')
        .map(({ status }) => `execution ${STATUS_NAMES[status] ?? status}`),
      ...(this.disk.rows('select 1 from lease where ended_at is null limit 1').length > 0
        ? ['lease held']
        : []),
      ...(this.disk.rows('select 1 from ticket limit 1').length > 0 ? ['lease awaited'] : []),
    ];
    for (const state of states) {
      const pair = `${kind} × ${state}`;
      this.coverage.set(pair, (this.coverage.get(pair) ?? 0) + 1);
    }
  }

  /** Repeated after the faults until the run is quiet: for people who finish what they began. */
  whenCalm(task: () => Promise<void>): void {
    this.#finishing.push(task);
  }

  /** Lets all actors finish. */
  finishAll(): void {
    for (const task of this.#finishing) this.run(this.host, task);
  }

  /** Ends all faults. Crashed actors start again. */
  calm(): void {
    this.disk.heal();
    for (const { weather } of this.links) Object.assign(weather, FAIR_WEATHER);
    for (const actor of this.actors.values()) actor.revive();
  }
}

const STATUS_NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([status, code]) => [code, status]),
);

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random.next() * items.length)] as Item;
}

export function between(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1));
}
