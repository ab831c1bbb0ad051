// Runs the command line from its sources, without our own settings in its environment. A full run
// starts a process for each command. `npm test` runs commands that end by themselves in one kept
// process.

import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFullRun } from '../services/tier.ts';
import type { WarmRequest } from './children/warm.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly problems: string;
}

export interface SpawnOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Another command line than the one of these sources. */
  readonly main?: string;
}

function start(words: readonly string[], { cwd, env, main = MAIN }: SpawnOptions): ChildProcess {
  return spawn(process.execPath, [main, ...words], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...inherited(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

export function inherited(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('HOLDFAST_') && name !== 'NODE_TEST_CONTEXT',
  );
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Commands that leave something in their process. */
const OWN_PROCESS: ReadonlySet<string> = new Set(['dev', 'init', 'contract']);

let warm: ChildProcess | undefined;
let isBusy = false;

/** Runs the command to its end. */
export async function holdfast(words: readonly string[], options: SpawnOptions = {}): Promise<Ran> {
  const needsProcess =
    options.input !== undefined ||
    options.main !== undefined ||
    // Node reads these when it starts.
    Object.keys(options.env ?? {}).some((name) => name.startsWith('NODE_')) ||
    OWN_PROCESS.has(words[0] ?? '');
  if (!isFullRun() && !needsProcess && !isBusy) return runWarm(words, options);
  const running = new Spawned(start(words, options));
  running.write(options.input ?? '');
  return running.ended();
}

async function runWarm(words: readonly string[], options: SpawnOptions): Promise<Ran> {
  isBusy = true;
  try {
    warm ??= fork(join(import.meta.dirname, 'children/warm.ts'), {
      env: inherited(),
      execArgv: [],
    });
    const child = warm;
    child.ref();
    child.channel?.ref();
    const ended = once(child, 'message');
    const env = { ...inherited(), ...options.env };
    const request: WarmRequest = { words, cwd: options.cwd ?? process.cwd(), env };
    child.send(request);
    const [ran] = (await ended) as [Ran];
    // It ends with this process, since it loses its channel.
    child.unref();
    child.channel?.unref();
    return ran;
  } finally {
    isBusy = false;
  }
}

/** Runs until the test stops it. */
export function startHoldfast(words: readonly string[], options: SpawnOptions = {}): Spawned {
  return new Spawned(start(words, options));
}

export class Spawned {
  readonly child: ChildProcess;
  readonly #ended: Promise<Ran>;
  #out = '';
  #problems = '';
  #onOutput: () => void = () => undefined;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
      this.#onOutput();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#problems += text;
      this.#onOutput();
    });
    this.#ended = once(child, 'close').then(([code]) => {
      this.#onOutput();
      return { code: code as number | null, out: this.#out, problems: this.#problems };
    });
  }

  get out(): string {
    return this.#out;
  }

  get problems(): string {
    return this.#problems;
  }

  write(text: string): void {
    this.child.stdin?.end(text);
  }

  /** Waits until the pattern matches in either stream, and returns its first group. */
  async prints(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.#out) ?? pattern.exec(this.#problems);
      if (found !== null) return found[1] ?? found[0];
      assert.equal(this.child.exitCode, null, `it ended:\n${this.#out}\n${this.#problems}`);
      await new Promise<void>((resolve) => {
        this.#onOutput = resolve;
      });
    }
  }

  /** Waits until the command listens, and returns its URL. */
  url(): Promise<string> {
    return this.prints(/"url":"(http[^"]+)"/);
  }

  ended(): Promise<Ran> {
    return this.#ended;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ran> {
    this.child.kill(signal);
    return this.#ended;
  }
}

/**
 * Gives `use` a new folder. Afterwards ends the processes that still run, and removes the folder.
 */
export async function inFolder(
  work: (folder: string, own: (spawned: Spawned) => Spawned) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  const started: Spawned[] = [];
  try {
    await work(folder, (spawned) => {
      started.push(spawned);
      return spawned;
    });
  } finally {
    for (const spawned of started) {
      spawned.child.kill('SIGKILL');
      await spawned.ended();
    }
    await rm(folder, { recursive: true, force: true });
  }
}
