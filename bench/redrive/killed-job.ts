// A bulk re-drive in child processes. The bench kills them after one third and after two thirds.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { checkRedriven, LETTERS, makeLetters } from '../../test/load/letters.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import { openSubject } from '../executions/subject/open-subject.ts';

export interface Redriven {
  readonly seconds: number;
  /** Without the time from each kill to the next claim. */
  readonly runningSeconds: number;
  readonly deaths: number;
}

interface RedriveOptions {
  readonly letters: number;
  progress(what: string): void;
}

const KILLED_AT = [1 / 3, 2 / 3] as const;
const POLL_MS = 20;

export async function redriveAll(
  location: StoreLocation,
  { letters, progress }: RedriveOptions,
): Promise<Redriven> {
  const subject = await openSubject(location);
  // Not `subject.holdfast`: its observer expects that every execution completes. Without an observer, the
  // worker would print a warning for each letter.
  const holdfast = new Holdfast({ store: subject.store, observer: { report: () => undefined } });
  progress(`creating ${letters} dead letters`);
  await makeLetters(holdfast, letters);
  // Started first: the start of a process is not part of the job.
  let worker = await startWorker(location);
  const job = await holdfast.bulk.redrive({ filter: { pipeline: LETTERS }, actor: 'bench' });
  const deaths: number[] = [];
  for (const share of KILLED_AT) {
    progress(`until ${Math.round(share * letters)} of ${letters}`);
    await untilSeen(holdfast, job.id, share * letters);
    deaths.push(Date.now());
    await kill(worker);
    worker = await startWorker(location);
  }
  progress('until all');
  await job.result();
  await kill(worker);
  progress('checking');
  await checkRedriven(holdfast, job.id, letters);
  const times = await timesOf(holdfast, job.id, deaths);
  await holdfast.close();
  await subject.close();
  return times;
}

/** Polls the progress of the job. */
async function untilSeen(holdfast: Holdfast, job: string, count: number): Promise<void> {
  for (;;) {
    const { progress, endedAt } = (await holdfast.read(job)) ?? {};
    if (endedAt !== undefined)
      throw new Error('Not measured: the job ended before its process was killed.');
    const decoded = progress === undefined ? {} : await holdfast.decode(progress);
    if (((decoded as { readonly seen?: number }).seen ?? 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function timesOf(
  holdfast: Holdfast,
  job: string,
  deaths: readonly number[],
): Promise<Redriven> {
  const execution = await holdfast.read(job);
  const { submittedAt = 0, endedAt = 0 } = execution ?? {};
  const history = await holdfast.history(job, { limit: 10_000 });
  const claims = history.filter(({ kind }) => kind === 'claimed').map(({ at }) => at);
  if (claims.length !== deaths.length + 1) {
    throw new Error(`Not measured: ${claims.length} claims and ${deaths.length} deaths.`);
  }
  const goneMs = deaths.reduce((sum, diedAt, nth) => sum + ((claims[nth + 1] ?? 0) - diedAt), 0);
  const ms = endedAt - submittedAt;
  return { seconds: ms / 1_000, runningSeconds: (ms - goneMs) / 1_000, deaths: deaths.length };
}

async function startWorker(location: StoreLocation): Promise<ChildProcess> {
  const file = join(import.meta.dirname, 'job-worker.ts');
  const child = spawn(process.execPath, [file, JSON.stringify(location)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
