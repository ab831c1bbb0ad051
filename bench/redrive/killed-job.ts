// A bulk re-drive in processes of its own, killed when a third and when two thirds are done.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { checkRedriven, LETTERS, makeLetters } from '../../test/load/letters.ts';
import type { Place } from '../executions/place.ts';
import { openSubject } from '../executions/subject/open-subject.ts';

export interface Redriven {
  readonly seconds: number;
  /** Without the time from each death to the next claim. */
  readonly runningSeconds: number;
  readonly deaths: number;
}

interface Asked {
  readonly letters: number;
  progress(what: string): void;
}

const KILLED_AT = [1 / 3, 2 / 3] as const;
const LOOK_MS = 20;

export async function redriveAll(place: Place, { letters, progress }: Asked): Promise<Redriven> {
  const subject = await openSubject(place);
  // Not the one that is watched: there everything is to complete.
  const holdfast = new Holdfast({ store: subject.store });
  progress(`making ${letters} letters`);
  await makeLetters(holdfast, letters);
  // What a process needs to start is not part of the job.
  let worker = await startWorker(place);
  const job = await holdfast.bulk.redrive({ filter: { pipeline: LETTERS }, actor: 'bench' });
  const deaths: number[] = [];
  for (const share of KILLED_AT) {
    progress(`until ${Math.round(share * letters)} of ${letters}`);
    await untilSeen(holdfast, job.id, share * letters);
    deaths.push(Date.now());
    await kill(worker);
    worker = await startWorker(place);
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

/** The job says how far it is. */
async function untilSeen(holdfast: Holdfast, job: string, count: number): Promise<void> {
  for (;;) {
    const { progress, endedAt } = (await holdfast.read(job)) ?? {};
    if (endedAt !== undefined) throw new Error('Not measured: it ended before it was killed.');
    const decoded = progress === undefined ? {} : await holdfast.decode(progress);
    if (((decoded as { readonly seen?: number }).seen ?? 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
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

async function startWorker(place: Place): Promise<ChildProcess> {
  const file = join(import.meta.dirname, 'job-worker.ts');
  const child = spawn(process.execPath, [file, JSON.stringify(place)], {
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
