// What a project has done, of the largest size: channels with messages, dead letters, jobs, notes, and
// archived executions.

import assert from 'node:assert/strict';
import type { Archive } from '../../../src/archive/port.ts';
import { QUOTAS } from '../../../src/features/access/model.ts';
import { CHANNEL_EVENTS } from '../../../src/features/channels/model.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { isFullRun } from '../../services/tier.ts';
import type { RawWorker } from '../raw-worker.ts';

/** One page. A sampled run saves time. */
const MANY = isFullRun() ? 1_000 : 50;
const CLAIMED_AT_ONCE = 250;
const NAME_CHARS = 256;
/** In JSON it takes six characters. */
const CONTROL = '\u0001';
const LONG_NAME = CONTROL.repeat(NAME_CHARS);
const REASON = CONTROL.repeat(4_096);
/** The longest text of a worker. */
const TEXT = CONTROL.repeat(8_192);
const ATTACHMENTS = 100;

export interface History {
  readonly letter: string;
  readonly job: string;
  readonly archived: string;
}

/** Archives what completes at once. */
export const ARCHIVING = {
  archive: archiveInMemory(),
  keepMs: { completed: 0 },
  everyMs: 3_600_000,
};

export const CHANNEL_SIGNING = { keys: { k1: 'channel secret '.repeat(3) }, current: 'k1' };

function archiveInMemory(): Archive {
  const documents = new Map<string, Uint8Array>();
  return {
    name: 'memory',
    put: async ({ path, bytes }) => void documents.set(path, bytes),
    get: async (path) => documents.get(path),
  };
}

export async function plantHistory(
  worker: RawWorker,
  { executions }: CoordinatorStore,
): Promise<History> {
  const archived = await plantArchived(worker);
  await plantChannels(worker);
  const letter = await plantLetters(worker);
  const job = await plantJobs(worker);
  for (let nth = 0; nth < MANY; nth += 1) {
    await must(worker, `POST /v1/executions/${letter}/notes`, { text: REASON });
  }
  assert.ok((await executions.archived(archived as never)) !== undefined, 'one was archived');
  return { letter, job, archived };
}

/** With the most tags, and with documents. */
async function plantArchived(worker: RawWorker): Promise<string> {
  const tags = Array.from({ length: 64 }, (_, nth) => `${nth}`.padEnd(NAME_CHARS, 'x'));
  const events = [{ kind: 'completed', body: '{"out":{"v":1}}' }];
  const attachments = Array.from({ length: ATTACHMENTS }, (_, nth) => ({
    ...{ name: `${nth}`.padEnd(200, 'n'), type: 'text/plain', bytes: '' },
  }));
  const ends = { verb: 'finish', status: 'completed', outcome: '{"v":1}', events };
  const [first = ''] = await endMany(worker, { tags }, (nth) => ({
    ...ends,
    ...(nth === 0 && { attachments }),
  }));
  for (let left = MANY; left > 0; ) {
    const { json } = await worker.call('POST', '/v1/archive/run', { limit: 1_000 });
    assert.ok(json.removed > 0, JSON.stringify(json));
    left -= json.removed;
  }
  return first;
}

async function plantChannels(worker: RawWorker): Promise<void> {
  const url = `https://example.com/${'u'.repeat(2_000)}`;
  const channel = { kind: 'webhook', url, events: CHANNEL_EVENTS, paused: true };
  for (let nth = 0; nth < QUOTAS.channels.default; nth += 1) {
    await must(worker, `PUT /v1/channels/c${nth}`, channel);
  }
}

async function plantLetters(worker: RawWorker): Promise<string> {
  const message = { category: 'permanent', code: TEXT, reason: TEXT, step: TEXT, attempts: 1 };
  const events = [{ kind: 'failed', body: '{"failure":{"code":"x","message":"y"}}' }];
  const ends = { verb: 'finish', status: 'failed', events, deadLetter: message };
  const [first = ''] = await endMany(worker, {}, () => ends);
  return first;
}

/** Nothing runs them: this coordinator has no maintenance. */
async function plantJobs(worker: RawWorker): Promise<string> {
  const where = Array.from({ length: 10 }, (_, nth) => `a${nth}=${'v'.repeat(250)}`);
  const filter = { where, tag: LONG_NAME, pipeline: LONG_NAME };
  const job = { dryRun: true, reason: REASON, filter };
  let last = '';
  for (let nth = 0; nth < MANY; nth += 1) {
    const { json } = await must(worker, 'POST /v1/jobs/cancel', job);
    last = json.id;
  }
  return last;
}

/** Submits, claims and ends many executions. Returns their ids. */
async function endMany(
  worker: RawWorker,
  options: object,
  end: (nth: number) => object,
): Promise<readonly string[]> {
  const pipeline = LONG_NAME;
  const ended: string[] = [];
  for (let nth = 0; nth < MANY; nth += 1) {
    await must(worker, 'POST /v1/executions', { pipeline, input: 1, ...options });
  }
  while (ended.length < MANY) {
    const shares = [{ lane: 'interactive', limit: CLAIMED_AT_ONCE }];
    const { session } = worker;
    const asked = { session, pipelines: [pipeline], shares };
    const { json } = await must(worker, 'POST /v1/work/claims', asked);
    const writes = (json.claims as readonly Claimed[]).map(({ execution, fence }, nth) => ({
      ...{ ...end(ended.length + nth), id: execution.id, fence, session },
      seq: execution.seq + 1,
    }));
    // A request with more of the longest texts is too large.
    for (let from = 0; from < writes.length; from += 10) {
      const some = writes.slice(from, from + 10);
      const { json: done } = await must(worker, 'POST /v1/work/writes', { writes: some });
      const kinds = new Set(done.results.map(({ kind }: { kind: string }) => kind));
      assert.deepEqual([...kinds], ['finished'], JSON.stringify(done).slice(0, 500));
    }
    ended.push(...writes.map(({ id }) => id));
  }
  return ended;
}

interface Claimed {
  readonly execution: { readonly id: string; readonly seq: number };
  readonly fence: number;
}

export async function must(
  worker: RawWorker,
  at: string,
  body: object,
): ReturnType<RawWorker['call']> {
  const [method = '', path = ''] = at.split(' ');
  const reply = await worker.call(method, path, body);
  if (reply.status >= 300) {
    throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.json).slice(0, 500)}`);
  }
  return reply;
}
