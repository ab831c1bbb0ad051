// The connection of a process to its store. Every call is a message: it leaves the process, arrives
// later, is handled in a transaction of the store, and its reply returns later still. Messages may be
// late, so they overtake each other. Both ways, a message may be lost; the caller then learns after a
// while that the outcome is unknown.

import type { LeaseKey } from '../../src/lease/names.ts';
import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { Database, type DatabaseConfig } from '../../src/store/sqlite/database.ts';
import { portsOf } from '../../src/store/sqlite/ports.ts';
import type { ReadTransaction, Transaction } from '../../src/store/sqlite/transaction.ts';
import { OutcomeUnknown } from '../../src/support/fault.ts';
import { thrownText } from '../../src/support/options.ts';
import type { Random } from '../../src/support/random.ts';
import {
  type CrashPoint,
  type FaultyConnection,
  isOfSqlite,
  type LastCommit,
  type SimulatedDisk,
} from './disk.ts';
import { type SimulatedProcess, streamOf } from './process.ts';
import type { Scheduler } from './scheduler.ts';

/** The faults of the messages of one process. */
export interface Weather {
  /** The longest time that a message takes. */
  lateMs: number;
  /** Shares of messages, from 0 to 1. */
  lost: number;
  doubled: number;
}

export const FAIR_WEATHER: Weather = Object.freeze({ lateMs: 2, lost: 0, doubled: 0 });

/** The time after which a caller gives up a lost message. */
const LOST_AFTER_MS = 700;

/** One call that the store has handled. */
export interface StoreCall {
  readonly process: SimulatedProcess;
  /** Such as `leases.acquire`. */
  readonly verb: string;
  readonly request: unknown;
  /** The store's reply, even if the process does not get it. */
  readonly reply: unknown;
  /** The place of its transaction among all transactions of the run. */
  readonly order: number;
  /** The time of its transaction by the store's clock; undefined if it has several. */
  readonly at: number | undefined;
}

export interface StoreServer {
  readonly scheduler: Scheduler;
  readonly disk: SimulatedDisk;
  readonly seed: number;
  readonly policy: LeasePolicy;
  /** The store's own clock. */
  readonly host: SimulatedProcess;
  /** Called in the event in which the store has handled a call. */
  observe(call: StoreCall): void;
  violate(rule: string, text: string): void;
  /** All open links, for wakeups. */
  readonly links: Set<StoreLink>;
  /** The share of wakeups that is lost. */
  readonly wakeupsLost: number;
}

interface Message {
  readonly verb: string;
  readonly request: unknown;
  /** The second argument of the few verbs that have one. */
  readonly extra: unknown;
}

type Verb = (request: unknown, extra?: unknown) => Promise<unknown>;

/** Verbs that a process may repeat without harm (U-2), so a network may double them. */
const REPEATABLE: ReadonlySet<string> = new Set([
  ...['sessions.open', 'sessions.heartbeat', 'sessions.end', 'leases.acquire', 'leases.withdraw'],
  ...['leases.checkpoint', 'leases.beginIntent', 'leases.settleIntent', 'leases.release'],
  ...['leases.requestDrain', 'leases.revoke', 'executions.record', 'executions.finish'],
  ...['executions.park', 'executions.giveBack', 'executions.submit'],
]);

/**
 * The store itself finds out which claims were not delivered, so it must learn of the loss: a
 * lost commit does that, a lost message does not.
 */
const NEVER_LOST: ReadonlySet<string> = new Set(['executions.claim']);

export class StoreLink {
  readonly weather: Weather = { ...FAIR_WEATHER };
  readonly store: CoordinatorStore;
  readonly process: SimulatedProcess;
  readonly #server: StoreServer;
  readonly #random: Random;
  readonly #wakeups: Set<() => void> = new Set();
  readonly #hints: Set<(key: LeaseKey) => void> = new Set();
  #ports: ReturnType<typeof portsOf>;
  #database!: ObservedDatabase;

  constructor(server: StoreServer, process: SimulatedProcess) {
    this.#server = server;
    this.process = process;
    this.#random = streamOf(server.seed, `link of ${process.name}`);
    this.#ports = this.#open();
    this.store = this.#wrap();
    server.links.add(this);
  }

  /** Kills the process at one of its next commits. */
  crashAt(point: CrashPoint): void {
    this.#database.crashAt(point);
  }

  /** Something may be ready or free. */
  wake(key?: LeaseKey): void {
    const { scheduler, wakeupsLost } = this.#server;
    if ((key === undefined ? this.#wakeups : this.#hints).size === 0) return;
    if (this.#random.next() < wakeupsLost) return;
    scheduler.after(this.#delayMs(), this.process, () => {
      if (key === undefined) for (const listener of this.#wakeups) listener();
      else for (const listener of this.#hints) listener(key);
    });
  }

  #open(): ReturnType<typeof portsOf> {
    const { disk, policy, host } = this.#server;
    const connection = disk.connect();
    const parts = { clock: host.clock, timers: host.timers, random: host.random };
    const database = new ObservedDatabase(connection, { ...parts, policy, busyTimeoutMs: 1_000 });
    this.#database = database;
    database.onWakeup(() => {
      for (const link of this.#server.links) link.wake();
    });
    database.hints.listen((key) => {
      for (const link of this.#server.links) link.wake(key);
    });
    return portsOf(database);
  }

  #wrap(): CoordinatorStore {
    const ports = this.#ports;
    const verbs = <Port extends object>(name: keyof typeof ports, port: Port): Port =>
      Object.fromEntries(
        Object.keys(port).map((verb) => [
          verb,
          (request: unknown, extra?: unknown) => this.#call(`${name}.${verb}`, request, extra),
        ]),
      ) as Port;
    return {
      kind: 'simulated',
      policy: this.#server.policy,
      durability: 'the simulated disk',
      hintsReach: 'all-processes',
      sessions: verbs('sessions', ports.sessions),
      leases: verbs('leases', ports.leases),
      executions: {
        ...verbs('executions', ports.executions),
        room: () => ports.executions.room(),
        claimsJoinSubmits: ports.executions.claimsJoinSubmits === true,
        onWakeup: (listener) => listening(this.#wakeups, listener),
      },
      access: verbs('access', ports.access),
      seals: verbs('seals', ports.seals),
      raiseEpoch: (request) => this.#call('raiseEpoch', request, undefined) as never,
      onHint: (listener) => listening(this.#hints, listener),
      close: async () => undefined,
    };
  }

  #call(verb: string, request: unknown, extra: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.process.state === 'dead') return;
      const { weather } = this;
      const mayLose = !NEVER_LOST.has(verb);
      const isDoubled = REPEATABLE.has(verb) && this.#random.next() < weather.doubled;
      if (mayLose && this.#random.next() < weather.lost) this.#giveUp(verb, reject);
      else this.#arrive({ verb, request, extra, mayLose }, { resolve, reject });
      // No caller waits for the reply to the copy.
      const ignore = (): void => undefined;
      if (isDoubled)
        this.#arrive({ verb, request, extra, mayLose: true }, { resolve: ignore, reject: ignore });
    });
  }

  #arrive(
    message: Message & { readonly mayLose: boolean },
    caller: { resolve: (reply: unknown) => void; reject: (fault: unknown) => void },
  ): void {
    const { verb, mayLose } = message;
    const { scheduler } = this.#server;
    const answer = (settle: () => void): void => {
      if (mayLose && this.#random.next() < this.weather.lost) this.#giveUp(verb, caller.reject);
      else scheduler.after(this.#delayMs(), this.process, settle);
    };
    scheduler.after(this.#delayMs(), undefined, () => {
      this.#handle(message).then(
        (reply) => answer(() => caller.resolve(reply)),
        (fault: unknown) => answer(() => caller.reject(fault)),
      );
    });
  }

  async #handle(message: Message): Promise<unknown> {
    const { verb, request, extra } = message;
    const [port = '', name] = verb.split('.');
    const ports = this.#ports as unknown as Readonly<
      Record<string, Readonly<Record<string, Verb>>>
    >;
    const call =
      name === undefined ? (this.#ports.raiseEpoch as unknown as Verb) : ports[port]?.[name];
    if (call === undefined) throw new Error(`The store has no verb ${verb}.`);
    const performed: Performed = {};
    try {
      const reply = await this.#database.observed(performed, () => call(request, extra));
      this.#observe(message, reply, performed);
      return reply;
    } catch (fault) {
      if (isOfSqlite(fault)) this.#server.violate('code', `${verb}: ${thrownText(fault)}`);
      // The reply is lost for the process. The checkers know it.
      const reply =
        this.#database.lastCommit === 'applied' ? replyOf(message, performed) : undefined;
      if (reply !== undefined) this.#observe(message, reply, performed);
      throw fault;
    }
  }

  #observe({ verb, request }: Message, reply: unknown, performed: Performed): void {
    const { process } = this;
    const { at, order = transactions + 0.5 } = performed;
    this.#server.observe({ process, verb, request, reply, order, at });
  }

  #giveUp(verb: string, reject: (fault: unknown) => void): void {
    this.#server.scheduler.after(LOST_AFTER_MS, this.process, () =>
      reject(new OutcomeUnknown(`The simulated network lost ${verb}.`)),
    );
  }

  #delayMs(): number {
    return this.#random.next() * this.weather.lateMs;
  }
}

/** The result of a transaction, kept beside the reply that may be lost. */
interface Performed {
  result?: unknown;
  order?: number;
  at?: number;
}

let transactions = 0;

class ObservedDatabase extends Database {
  readonly #connection: FaultyConnection;
  #performed: Performed | undefined;

  constructor(connection: FaultyConnection, config: DatabaseConfig) {
    super(connection, config);
    this.#connection = connection;
  }

  crashAt(point: CrashPoint): void {
    this.#connection.crashAt = point;
  }

  get lastCommit(): LastCommit {
    return this.#connection.lastCommit;
  }

  /** Keeps the result of the transaction that this call begins. */
  observed<Reply>(performed: Performed, call: () => Promise<Reply>): Promise<Reply> {
    this.#performed = performed;
    try {
      return call();
    } finally {
      this.#performed = undefined;
    }
  }

  override write<Result>(operation: (transaction: Transaction) => Result): Promise<Result> {
    return super.write(keeping(this.#performed, operation));
  }

  /** A read has the time of its snapshot, and a place between two transactions. */
  override read<Result>(operation: (transaction: ReadTransaction) => Result): Promise<Result> {
    const performed = this.#performed;
    if (performed === undefined) return super.read(operation);
    return super.read((transaction) => {
      performed.order ??= transactions + 0.5;
      performed.at ??= transaction.now;
      return operation(transaction);
    });
  }

  override perform<Request, Result>(
    verb: (transaction: Transaction, request: Request) => Result,
    request: Request,
  ): Promise<Result> {
    return super.perform(keeping(this.#performed, verb), request);
  }
}

function keeping<Rest extends readonly unknown[], Result>(
  performed: Performed | undefined,
  operation: (transaction: Transaction, ...rest: Rest) => Result,
): typeof operation {
  if (performed === undefined) return operation;
  return (transaction, ...rest) => {
    const result = operation(transaction, ...rest);
    performed.result = result;
    transactions += 1;
    performed.order = transactions;
    performed.at = transaction.now;
    return result;
  };
}

/** The kinds of replies to verbs of a term, whose transactions return decisions. */
const TERM_REPLIES: Readonly<Record<string, string>> = {
  'leases.beginIntent': 'begun',
  'leases.settleIntent': 'settled',
  'leases.release': 'released',
  'leases.revoke': 'revoked',
  'leases.requestDrain': 'draining',
};

/** The reply that the process would have got. */
function replyOf({ verb, request }: Message, { result }: Performed): unknown {
  if (verb === 'executions.claim') return (result as { result?: unknown } | undefined)?.result;
  // Re-drives run together, and the first one began the transaction.
  if (verb === 'executions.redrive') return (result as readonly unknown[] | undefined)?.[0];
  // A check writes nothing but the halt for a fence that was never issued (T-4).
  if (verb === 'leases.verify') return { kind: 'refused', why: 'fence-ahead', ...Object(request) };
  const kind = TERM_REPLIES[verb];
  if (kind === undefined || result === undefined) return result;
  const decision = result as { readonly kind: string; readonly refusal?: object };
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const replayed = decision.kind === 'replay';
  return kind === 'settled' ? { kind, wasOpen: !replayed } : { kind, replayed };
}

function listening<Listener>(all: Set<Listener>, listener: Listener): () => void {
  all.add(listener);
  return () => all.delete(listener);
}
