// `holdfast lease run` runs a program under a lease. The program gets key and fence in its
// environment, SIGTERM when an operator drains the lease, and SIGKILL before authority ends.

import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { AcquireOutcome } from '../../lease/acquire-lease.ts';
import { momentOf } from '../../lease/authority.ts';
import type { DeclaredExit } from '../../lease/exit.ts';
import type { HeldLease } from '../../lease/held-lease.ts';
import type { Drain } from '../../lease/lease.ts';
import { openSession, type Session } from '../../lease/live-session.ts';
import { causeOf } from '../../lease/observer.ts';
import type { LeaseService } from '../../lease/port.ts';
import { describeRefusal } from '../../lease/refusal.ts';
import { systemClock } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { present } from '../../support/options.ts';
import { stopRequested } from '../../support/stop-requested.ts';
import { systemTimers } from '../../support/timer.ts';
import { durationText, type Typed, UsageProblem } from '../command.ts';
import { printProblem } from '../screen.ts';
import { decideOutcome, RUN_CODES, type RunOutcome, signalCode } from './outcome.ts';
import { FORWARDED_SIGNALS, type Program, startProgram } from './program.ts';

export const RUN_USAGE =
  'holdfast lease run <key> [--store …] [--wait] [--ttl 15s] [--checkpoint-file <path>] -- <command> …';

const TTL_MS = 15_000;
const TTL_MS_MIN = 1_000;
const SAVE_MS = 1_000;

interface Run {
  readonly key: string;
  readonly command: readonly [string, ...string[]];
  readonly owner: string;
  readonly ttlMs: number;
  readonly wait: boolean;
  readonly timeoutMs: number | undefined;
  readonly file: string | undefined;
  readonly saveMs: number;
  readonly isJson: boolean;
}

export function runOf(typed: Typed): Run {
  const [key, program, ...rest] = typed.words;
  if (key === undefined || program === undefined) {
    throw new UsageProblem(`<key> and <command> are required. Usage: ${RUN_USAGE}`);
  }
  if (process.platform === 'win32') {
    throw new UsageProblem('lease run needs process groups, which Windows does not have.');
  }
  const ttlMs = durationText('ttl', typed.text('ttl')) ?? TTL_MS;
  if (ttlMs < TTL_MS_MIN) throw new UsageProblem('--ttl must be at least 1s.');
  const timeoutMs = durationText('timeout', typed.text('timeout'));
  if (timeoutMs !== undefined && !typed.isSet('wait')) {
    throw new UsageProblem('--timeout limits a wait, so it needs --wait.');
  }
  return {
    ...{ key, command: [program, ...rest], ttlMs, timeoutMs },
    owner: typed.text('owner') ?? `lease-run@${hostname()}`,
    wait: typed.isSet('wait'),
    file: typed.text('checkpoint-file'),
    saveMs: durationText('checkpoint-every', typed.text('checkpoint-every')) ?? SAVE_MS,
    isJson: typed.isSet('json'),
  };
}

/** Returns the exit code. */
export async function runUnderLease(run: Run, store: LeaseService): Promise<number> {
  const stops = new Stops();
  let session: Session | undefined;
  let exit: DeclaredExit = 'abandoned';
  try {
    session = await openSession({ store, owner: run.owner, ttlMs: run.ttlMs });
    const { wait, timeoutMs } = run;
    const options = { wait, ...present({ timeoutMs }), signal: stops.requested };
    const got = await session.acquire(run.key, options);
    if (got.kind !== 'acquired') return notAcquired(run, got, stops);
    const outcome = await runTerm(run, got.lease, stops);
    exit = outcome.exit;
    return outcome.code;
  } finally {
    stops.close();
    await session?.close(exit).catch((fault: unknown) => noteNotEnded(run, fault));
  }
}

async function runTerm(run: Run, lease: HeldLease, stops: Stops): Promise<RunOutcome> {
  const { file } = run;
  if (file !== undefined) await restoreCheckpoint(file, lease);
  const over = new AbortController();
  const watched = superviseProgram(run, lease, stops);
  const saving = file === undefined ? undefined : new CheckpointFile(file, lease);
  const saves = saving && saveWhile(saving, run, over.signal);
  const end = await watched.program.ended;
  watched.stop();
  over.abort();
  await saves;
  const lost = watched.lost();
  const unsaved = lost === undefined ? await saving?.save() : undefined;
  const outcome = decideOutcome({
    ...{ end, isDrained: lease.drain !== undefined, wasSignalled: stops.requested.aborted },
    ...present({ lost, unsaved }),
  });
  const { code, exit, cause, text } = outcome;
  // After a loss, this frees the key sooner if the session still carries it.
  await lease.release(exit, present({ cause })).catch((fault: unknown) => noteNotEnded(run, fault));
  if (text !== undefined) printNote(run, text, { code, exit });
  return outcome;
}

/** The code of the program counts. A coordinator refuses, for example, a key that was revoked. */
function noteNotEnded(run: Run, fault: unknown): void {
  printNote(run, `The end was not recorded, so the key is free after the ttl: ${causeOf(fault)}`);
}

/** The program must be dead when authority ends, so the kill comes earlier by this margin. */
function marginOf(ttlMs: number): number {
  return Math.min(1_000, Math.max(50, ttlMs / 20));
}

interface Watched {
  readonly program: Program;
  /** Why authority ended, if it did before the program. */
  lost(): string | undefined;
  stop(): void;
}

/**
 * Starts the program, and moves its deadline with each renewal. The watchdog and this process each
 * kill it in time, so one of them may be frozen or dead.
 */
function superviseProgram(run: Run, lease: HeldLease, stops: Stops): Watched {
  const marginMs = marginOf(run.ttlMs);
  const deadline = () => ({ from: momentOf(systemClock), leftMs: lease.remainingMs() - marginMs });
  const { key, fence, predecessor } = lease;
  const program = startProgram({
    command: run.command,
    deadline: deadline(),
    env: {
      HOLDFAST_LEASE_KEY: key,
      HOLDFAST_LEASE_FENCE: String(fence),
      HOLDFAST_LEASE_PREDECESSOR: predecessor.exit,
      ...(run.file === undefined ? {} : { HOLDFAST_LEASE_CHECKPOINT_FILE: run.file }),
    },
  });
  let lost: string | undefined;
  const lose = (why: string): void => {
    lost ??= why;
    program.kill();
  };
  const everyMs = marginMs / 2;
  let cancel = (): void => undefined;
  const look = (): void => {
    const next = deadline();
    if (next.leftMs <= 0) lose('authority was about to end without a renewal.');
    else program.extend(next);
    cancel = systemTimers.after(everyMs, look);
  };
  look();
  const onLoss = (): void => lose(lease.signal.reason.message);
  lease.signal.addEventListener('abort', onLoss);
  const onDrain = ({ actor, reason }: Drain): void => {
    printNote(run, `${actor} drains "${key}" (${reason}). The program gets SIGTERM.`, { fence });
    program.signal('SIGTERM');
  };
  const undrain = lease.onDrain(onDrain);
  if (lease.drain !== undefined) onDrain(lease.drain);
  stops.forward((signal) => program.signal(signal));
  return {
    program,
    lost: () => lost,
    stop() {
      cancel();
      undrain();
      lease.signal.removeEventListener('abort', onLoss);
    },
  };
}

async function saveWhile(saving: CheckpointFile, run: Run, over: AbortSignal): Promise<void> {
  let last: string | undefined;
  while (!over.aborted) {
    await systemTimers.pause(run.saveMs, over);
    if (over.aborted) return;
    const problem = await saving.save();
    if (problem !== undefined && problem !== last)
      printNote(run, `Checkpoint not saved: ${problem}`);
    last = problem;
  }
}

function notAcquired(
  run: Run,
  got: Exclude<AcquireOutcome, { readonly kind: 'acquired' }>,
  { last }: Stops,
): number {
  if (got.kind === 'unknown' || got.kind === 'unavailable') throw got.fault;
  if (got.kind === 'cancelled') {
    if (last !== undefined) return signalCode(last);
    throw new Fault(
      'lease-not-held',
      `The session ended while it waited for "${run.key}". Nothing ran. Run the command again.`,
    );
  }
  const refusal = got.kind === 'refused' ? got : got.kind === 'timed-out' ? got.refusal : undefined;
  const why =
    refusal === undefined
      ? 'The store responded too late. Use a longer --ttl.'
      : describeRefusal(refusal);
  const fix = run.wait ? 'Run the command again.' : 'Pass --wait to wait for the key.';
  printNote(run, `${why} Nothing ran. ${fix}`, {
    code: RUN_CODES['not-acquired'],
    ...present({ why: refusal?.why }),
  });
  return RUN_CODES['not-acquired'];
}

/** To stderr, because stdout belongs to the program. */
function printNote(run: Run, problem: string, fields: object = {}): void {
  printProblem(run.isJson ? JSON.stringify({ ...fields, problem }) : `holdfast: ${problem}`);
}

/** Signals to this process. Before the program runs they end the wait; then it gets them. */
class Stops {
  readonly #requested: AbortController = new AbortController();
  readonly #over: AbortController = new AbortController();
  readonly #pending: NodeJS.Signals[] = [];
  #send: ((signal: NodeJS.Signals) => void) | undefined;
  #last: NodeJS.Signals | undefined;
  readonly #take = (signal: NodeJS.Signals): void => {
    if (!signal.startsWith('SIGUSR')) {
      this.#last = signal;
      this.#requested.abort();
    }
    if (this.#send === undefined) this.#pending.push(signal);
    else this.#send(signal);
  };

  constructor() {
    for (const signal of OTHER_SIGNALS) process.on(signal, this.#take);
    void this.#listen();
  }

  /** Aborts with the first signal to stop. */
  get requested(): AbortSignal {
    return this.#requested.signal;
  }

  /** The last signal to stop. */
  get last(): NodeJS.Signals | undefined {
    return this.#last;
  }

  forward(send: (signal: NodeJS.Signals) => void): void {
    this.#send = send;
    for (const signal of this.#pending) send(signal);
  }

  close(): void {
    this.#over.abort();
    for (const signal of OTHER_SIGNALS) process.off(signal, this.#take);
  }

  /** `stopRequested` resolves once, so each signal needs another call. */
  async #listen(): Promise<void> {
    for (;;) {
      const reason = await stopRequested(this.#over.signal);
      const signal = FORWARDED_SIGNALS.find((each) => each === reason);
      this.#take(signal ?? 'SIGTERM');
      // The npm that started this process has ended, which happens once.
      if (signal === undefined) return;
    }
  }
}

const OTHER_SIGNALS = FORWARDED_SIGNALS.filter((each) => each !== 'SIGTERM' && each !== 'SIGINT');

// The checkpoint of a lease as a file, for a program that knows no leases.

/** Gives the program what its predecessor saved, and nothing else. Keeps a file that differs. */
export async function restoreCheckpoint(path: string, { restored }: HeldLease): Promise<void> {
  const found = await contentOf(path);
  if (found !== undefined && digestOf(found) !== restored?.digest) {
    await rename(path, `${path}.before`);
  }
  if (restored === undefined) return;
  const draft = `${path}.${process.pid}.draft`;
  await writeFile(draft, restored.bytes);
  await rename(draft, path);
}

export class CheckpointFile {
  readonly #path: string;
  readonly #lease: HeldLease;
  #seen = '';

  constructor(path: string, lease: HeldLease) {
    this.#path = path;
    this.#lease = lease;
  }

  /** Returns why a changed file was not saved; undefined if it is saved or has not changed. */
  async save(): Promise<string | undefined> {
    // A file that cannot be read must not end the program.
    return this.#saveChanged().catch((fault: unknown) => {
      this.#seen = '';
      return causeOf(fault);
    });
  }

  async #saveChanged(): Promise<string | undefined> {
    const version = await versionOf(this.#path);
    if (version === this.#seen) return undefined;
    const bytes = await contentOf(this.#path);
    // The program wrote meanwhile, so the content may be half of it.
    if (bytes === undefined || version !== (await versionOf(this.#path))) return undefined;
    this.#seen = version;
    if (digestOf(bytes) === this.#lease.restored?.digest) return undefined;
    const result = await this.#lease.checkpoint(bytes);
    if (result.kind === 'saved') return undefined;
    this.#seen = '';
    if (result.kind === 'refused') return describeRefusal(result);
    return result.kind === 'not-held' ? result.reason.message : result.fault.message;
  }
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch(unlessMissing);
}

/** The most that any store keeps. Reading a larger file would delay renewals. */
const FILE_BYTES_MAX = 16_777_216;

/** Changes with every write and every replacement of the file. */
async function versionOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(unlessMissing);
  if (found !== undefined && found.size > FILE_BYTES_MAX) {
    throw new InvalidInput(
      `${path} has more than ${FILE_BYTES_MAX} bytes. Store the data elsewhere, and write a reference to it.`,
    );
  }
  return found === undefined ? '' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}

function unlessMissing(fault: NodeJS.ErrnoException): undefined {
  if (fault.code !== 'ENOENT') throw fault;
}
