// A child process that takes commands: calls go to it, and answers come back over its IPC channel.
// It ends when the channel closes, so it cannot outlive this process, frozen or not.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';

export type InputOf<Call> = Call extends (input: infer Input) => unknown ? Input : never;
export type OutputOf<Call> = Call extends (input: never) => infer Output ? Awaited<Output> : never;

export interface CallMessage {
  readonly kind: 'call';
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

export type ChildMessage =
  | { readonly kind: 'answer'; readonly id: number; readonly output: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string }
  | { readonly kind: 'event'; readonly name: string; readonly detail: unknown };

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const CALL_MS_MAX = 30_000;

interface Pending {
  readonly resolve: (output: never) => void;
  readonly reject: (reason: Error) => void;
}

export class Child<Api extends object> {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  readonly #process: ChildProcess;
  readonly #events: EventEmitter = new EventEmitter();
  readonly #pending: Map<number, Pending> = new Map();
  #calls = 0;
  #guard: ChildProcess | undefined;

  /** `entry` is a path below test/processes. */
  constructor(entry: string, args: readonly string[] = []) {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    this.#process = fork(join(import.meta.dirname, '..', entry), args, {
      execPath: process.execPath,
      execArgv: [],
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    if (this.#process.pid === undefined) throw new Error(`${entry} did not start`);
    this.pid = this.#process.pid;
    this.exit = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        for (const { reject } of this.#pending.values()) {
          reject(new Error(`${entry} ended (${signal ?? code}) before it answered`));
        }
        this.#pending.clear();
        resolve({ code, signal });
      });
    });
    this.#process.on('message', (message) => this.#take(message as ChildMessage));
    this.#process.on('error', () => undefined);
  }

  /** Rejects if there is no answer within `withinMs`, so that no test waits for ever. */
  call<Name extends keyof Api & string>(
    name: Name,
    input: InputOf<Api[Name]>,
    withinMs: number = CALL_MS_MAX,
  ): Promise<OutputOf<Api[Name]>> {
    this.#calls += 1;
    const id = this.#calls;
    const answer = new Promise<OutputOf<Api[Name]>>((resolve, reject) => {
      const giveUp = () => reject(new Error(`"${name}" was not answered in ${withinMs} ms`));
      setTimeout(giveUp, withinMs).unref();
      this.#pending.set(id, { resolve, reject });
      this.#process.send({ kind: 'call', id, name, input } satisfies CallMessage);
    });
    // A caller that awaits it sees the failure; callers of a child that is killed on purpose do not
    // await.
    answer.catch(() => undefined);
    return answer;
  }

  on(event: string, listener: (detail: unknown) => void): void {
    this.#events.on(event, listener);
  }

  /** The next event of this name, or a failure when the process ends without one. */
  async next(event: string): Promise<unknown> {
    const abort = new AbortController();
    const ended = this.exit.then(({ code, signal }) => {
      throw new Error(`ended (${signal ?? code}) without the event "${event}"`);
    });
    const happened = once(this.#events, event, { signal: abort.signal });
    happened.catch(() => undefined);
    try {
      const [detail] = await Promise.race([happened, ended]);
      return detail;
    } finally {
      abort.abort();
    }
  }

  /** Stops it as a debugger, a hypervisor or a full machine would: at once, wherever it is. */
  freeze(): void {
    // A frozen process cannot notice that its parent is gone; this one can, and kills it.
    this.#guard = spawn('sh', ['-c', 'read -r _; kill -KILL "$0"', String(this.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#guard.unref();
    this.#process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#endGuard();
    this.#process.kill('SIGCONT');
  }

  async kill(): Promise<Exit> {
    this.#endGuard();
    this.#process.kill('SIGKILL');
    return this.exit;
  }

  #endGuard(): void {
    this.#guard?.kill('SIGKILL');
    this.#guard = undefined;
  }

  #take(message: ChildMessage): void {
    if (message.kind === 'event') {
      this.#events.emit(message.name, message.detail);
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.kind === 'answer') pending?.resolve(message.output as never);
    else pending?.reject(new Error(message.message));
  }
}
