// `holdfast releases repin --all` starts a job that repins the executions of a release, and shows
// its progress.

import { type ExitCode, integerText, type Typed, UsageProblem } from '../../cli/command.ts';
import { plain, print, printLine, printProblem, printTable } from '../../cli/screen.ts';
import type { HoldfastClient } from '../../client/client.ts';
import { present } from '../../support/options.ts';
import { systemTimers } from '../../support/timer.ts';
import type { BulkRepinBody, JobMessage } from '../repair/messages.ts';

/** Flags of `repin` that need `--all`. */
export const ONLY_ALL: readonly string[] = ['unpinned', 'dry-run', 'per-second'];

const POLL_MS = 500;
/** Polls without progress before printing what the job waits for. */
const POLLS_WITHOUT_PROGRESS = 6;
const SUCCEEDED: ReadonlySet<string> = new Set(['repinned', 'no-change', 'would-repin']);
const LISTED_MAX = 20;
const PAGE = 1_000;

/** Exits with 1 if an execution was not repinned, or would not be. */
export async function repinAll(
  client: HoldfastClient,
  typed: Typed,
  { pipeline, to }: { readonly pipeline: string; readonly to: string },
): Promise<ExitCode> {
  const { id } = await client.releases.repinAll(pipeline, bodyOf(typed, to));
  const isJson = typed.isSet('json');
  if (!isJson) printProblem(`Started job ${id}. It continues if you stop this command.`);
  const job = await ended(client, id, isJson);
  if (isJson) printLine(job);
  else await printOutcomes(client, job);
  const hasSucceeded = Object.keys(job.outcomes).every((each) => SUCCEEDED.has(each));
  return job.status === 'completed' && hasSucceeded ? 0 : 1;
}

function bodyOf(typed: Typed, to: string): BulkRepinBody {
  if (typed.isSet('force')) {
    throw new UsageProblem(
      '--force works only for one execution: a bulk job replays each one first.',
    );
  }
  const from = typed.text('from');
  if ((from === undefined) !== typed.isSet('unpinned')) {
    throw new UsageProblem(
      'Pass either --from <release>, or --unpinned for executions that are not pinned.',
    );
  }
  const perSecond = integerText('per-second', typed.text('per-second'), 1);
  const reason = typed.text('reason');
  return {
    ...{ from: from ?? null, to },
    ...(typed.isSet('dry-run') ? { dryRun: true } : {}),
    ...present({ perSecond, reason }),
  };
}

async function ended(client: HoldfastClient, id: string, isJson: boolean): Promise<JobMessage> {
  const isTerminal = process.stderr.isTTY === true && !isJson;
  let seen = 0;
  for (let polls = 0; ; polls += 1) {
    const job = await client.jobs.read(id);
    if (job.seen !== seen) polls = 0;
    seen = job.seen;
    if (isTerminal) process.stderr.write(`\r${plain(progressOf(job))}${job.endedAt ? '\n' : ''}`);
    if (job.endedAt !== undefined) return job;
    if (polls === POLLS_WITHOUT_PROGRESS && !isJson) await printWhy(client, id);
    await systemTimers.pause(POLL_MS);
  }
}

function progressOf({ seen, outcomes }: JobMessage): string {
  const counts = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  return plain([`${seen} seen`, ...counts].join(', '));
}

async function printWhy(client: HoldfastClient, id: string): Promise<void> {
  const { sentence, advice } = await client.executions.explain(id);
  printProblem(plain([sentence, advice ?? ''].join(' ').trim()));
}

async function printOutcomes(client: HoldfastClient, job: JobMessage): Promise<void> {
  const { id, status, seen, outcomes } = job;
  if (status !== 'completed') print(`The job is ${status}. Its finished items stay done.`);
  if (seen === 0) print('No open execution is pinned there.');
  else printTable(Object.entries(outcomes).map(([outcome, count]) => [outcome, String(count)]));
  if (job.dryRun) return;
  const left: [string, string][] = [];
  for (let cursor: string | undefined; left.length < LISTED_MAX; ) {
    const page = await client.jobs.items(id, { limit: PAGE, ...(cursor && { cursor }) });
    for (const { target, outcome } of page.items) {
      if (!SUCCEEDED.has(outcome)) left.push([target, outcome]);
    }
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  if (left.length === 0) return;
  print('Not repinned:');
  printTable(left.slice(0, LISTED_MAX));
}
