// Runs many seeds in several processes.

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { SeedReport } from './seeds-process.ts';

const CHILD = join(import.meta.dirname, 'seeds-process.ts');

/** Compiling the sources takes longer than three seeds. */
const NODE_COMPILE_CACHE = join(import.meta.dirname, '../../.cache/compiled');

export interface SeedRun {
  readonly first: number;
  readonly count: number;
  readonly processes?: number;
  /** Arguments of Node, such as `--import` of a planted bug. */
  readonly execArgv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Returns true to stop early. */
  readonly onReport: (report: SeedReport) => boolean | undefined;
}

export async function runSeeds(run: SeedRun): Promise<void> {
  const { first, count, processes = 2 } = run;
  let next = first;
  const take = (): number | undefined => {
    const seed = next;
    next += 1;
    return seed < first + count ? seed : undefined;
  };
  const stop = (): void => {
    next = first + count;
  };
  await Promise.all(Array.from({ length: processes }, () => runOne(run, { take, stop })));
}

function runOne(
  { execArgv = [], env, onReport }: SeedRun,
  { take, stop }: { readonly take: () => number | undefined; readonly stop: () => void },
): Promise<void> {
  const child: ChildProcess = fork(CHILD, {
    execArgv: [...execArgv],
    env: { ...process.env, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    const send = (): void => {
      const seed = take();
      if (seed === undefined) child.disconnect();
      else child.send(seed);
    };
    child.on('message', (report: SeedReport) => {
      if (onReport(report) === true) stop();
      send();
    });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`A process that ran seeds ended with code ${code}.`));
    });
    send();
  });
}

/** Seeds with a planted bug. */
export function withBug(id: string): Pick<SeedRun, 'execArgv' | 'env'> {
  const hook = join(import.meta.dirname, 'plant.ts');
  return { execArgv: ['--import', hook], env: { HOLDFAST_PLANTED: id } };
}
