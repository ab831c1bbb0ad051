// The channels suite: how fast a coordinator delivers a backlog of webhooks, and how long a message
// takes from its commit to its receiver. The raw floor commits as many rows in the same run.

import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { HoldfastClient } from '../../src/client/client.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { type Spawned, startHoldfast } from '../../test/cli/spawned.ts';
import { startPostgres } from '../../test/services/postgres.ts';
import { type Floor, openPostgresFloor, openSqliteFloor } from '../floor.ts';
import { alternate, medianRound } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { BenchFailed, type Plan, type Suite } from '../suite.ts';

/** One channel takes so many messages at once. */
const IN_FLIGHT = 16;
const CHANNELS = [1, 8] as const;
const MESSAGE_BYTES = 300;
const PER_SECOND = 50;

export const channelsSuite: Suite = {
  name: 'channels',
  summary: 'Webhooks: delivery of a backlog, and the lag of single messages',
  legend: [
    'backlog: messages of ended executions wait in paused channels, which are then opened at once.',
    'delivered: from opening the channels to the last message at the receiver, which replies 204.',
    'raw: one durable commit of a row with 300 bytes, 16 in flight, in the same run.',
    'of raw: messages divided by raw commits. A message is claimed and recorded in batches.',
    `lag: from the commit of the end to the receiver, at ${PER_SECOND} ends per second, in whole milliseconds.`,
    'Bench, receiver, coordinator and database share this machine.',
  ],
  run: runChannels,
};

interface Stand {
  readonly kind: 'sqlite' | 'postgres';
  readonly server: Spawned;
  readonly client: HoldfastClient;
  readonly receiver: Receiver;
  readonly floor: Floor;
  close(): Promise<void>;
}

async function* runChannels(plan: Plan): AsyncGenerator<Result, void, void> {
  for (const kind of ['sqlite', 'postgres'] as const) {
    if (!plan.stores.includes(kind)) continue;
    plan.progress(`opening ${kind}`);
    const stand = await openStand(kind);
    try {
      const raw = await rawRate(stand, plan);
      for (const channels of CHANNELS) {
        plan.progress(`${kind}: backlog of ${channels} channels`);
        const messages = (plan.quick ? 400 : 4_000) / channels;
        yield* backlog(stand, { channels, messages }, raw);
      }
      plan.progress(`${kind}: lag`);
      yield* lag(stand, plan.quick ? 100 : 1_500);
    } finally {
      await stand.close();
    }
  }
}

class Receiver {
  readonly #server = createServer((request, response) => {
    const at = systemClock.wallMs();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: string };
      const path = request.url ?? '';
      const id = `${path} ${String(request.headers['webhook-id'])}`;
      if (!this.lags.has(id)) this.lags.set(id, at - Date.parse(timestamp));
      response.writeHead(204).end();
      if (this.lags.size >= this.#wanted) this.#reached();
    });
  });
  /** Of each message, by path and id. */
  readonly lags: Map<string, number> = new Map();
  #wanted = Number.POSITIVE_INFINITY;
  #reached: () => void = () => undefined;

  async open(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets earlier messages. Resolves when so many different ones have come. */
  expect(count: number): Promise<void> {
    this.lags.clear();
    this.#wanted = count;
    return new Promise((resolve) => {
      this.#reached = resolve;
    });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function openStand(kind: Stand['kind']): Promise<Stand> {
  const folder = scratchFolder();
  const postgres = kind === 'postgres' ? await startPostgres() : undefined;
  const signing = { keys: { k1: 'channel secret '.repeat(3) }, current: 'k1' };
  const file = join(folder, 'channels.json');
  await writeFile(file, JSON.stringify(signing), { mode: 0o600 });
  const server = startHoldfast(
    [
      ...['serve', '--port', '0', '--auth', 'off', '--channels-signing-file', file],
      ...['--store', postgres?.url ?? join(folder, 'channels.db')],
      ...['--channels-private-addresses', 'true', '--channels-allow-http', 'true'],
    ],
    { cwd: folder },
  );
  const receiver = new Receiver();
  const url = await receiver.open();
  const client = new HoldfastClient({ url: await server.url() });
  for (let nth = 0; nth < Math.max(...CHANNELS); nth += 1) {
    await client.channels.put(`c${nth}`, channel(`${url}/${nth}`));
  }
  const floor = postgres
    ? await openPostgresFloor(postgres.url, IN_FLIGHT)
    : openSqliteFloor(folder);
  return {
    ...{ kind, server, client, receiver, floor },
    async close() {
      await server.stop();
      receiver.close();
      await floor.close();
      await postgres?.stop();
    },
  };
}

function channel(url: string) {
  return { kind: 'webhook' as const, url, events: ['execution-ended' as const], paused: true };
}

async function setPaused({ client }: Stand, count: number, paused: boolean): Promise<void> {
  const { items } = await client.channels.list();
  for (const { id, url } of items.slice(0, count)) {
    await client.channels.put(id, { ...channel(url), paused });
  }
}

/** Ends executions that no worker runs, so that only channels have work. */
async function endMany({ client }: Stand, count: number): Promise<void> {
  let left = count;
  const end = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { id } = await client.executions.submit({ pipeline: 'bench' });
      await client.executions.cancel(id);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, end));
}

async function rawRate({ floor }: Stand, { quick }: Plan): Promise<number> {
  const pace = { rounds: quick ? 3 : 7, roundMs: quick ? 200 : 1_000, warmUpMs: 200 };
  const operation = async (worker: number): Promise<unknown> => floor.commit(worker, MESSAGE_BYTES);
  const [rounds = []] = await alternate([{ inFlight: IN_FLIGHT, operation }], pace);
  return medianRound(rounds).perSecond;
}

interface Backlog {
  readonly channels: number;
  readonly messages: number;
}

async function* backlog(
  stand: Stand,
  { channels, messages }: Backlog,
  raw: number,
): AsyncGenerator<Result, void, void> {
  const { client, receiver, kind, floor } = stand;
  const { items } = await client.channels.list();
  // Channels that are not part of the case must not write messages.
  for (const { id } of items.slice(channels)) await client.channels.remove(id);
  await endMany(stand, messages);
  const all = receiver.expect(channels * messages);
  const began = systemClock.monotonicMs();
  await setPaused(stand, channels, false);
  await all;
  const seconds = (systemClock.monotonicMs() - began) / 1_000;
  const failed = await client.channels.deliveries('c0', { state: 'failed', limit: 1 });
  if (failed.items.length > 0) throw new BenchFailed('A message failed. Nothing is reported.');
  await setPaused(stand, channels, true);
  for (const { id, url } of items.slice(channels)) await client.channels.put(id, channel(url));
  const rate = (channels * messages) / seconds;
  const common = {
    ...{ suite: 'channels', case: `backlog, ${channels} channels`, store: kind },
    settings: { ...floor.settings, messages: channels * messages },
  };
  yield { ...common, metric: 'delivered', value: rate, unit: '/s' };
  yield { ...common, metric: 'raw', value: raw, unit: '/s' };
  yield { ...common, metric: 'of raw', value: rate / raw, unit: '' };
}

async function* lag(stand: Stand, count: number): AsyncGenerator<Result, void, void> {
  const { client, receiver, kind } = stand;
  await setPaused(stand, 1, false);
  const all = receiver.expect(count);
  const began = systemClock.monotonicMs();
  const ended: Promise<unknown>[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const waitMs = began + (nth * 1_000) / PER_SECOND - systemClock.monotonicMs();
    if (waitMs > 0) await systemTimers.pause(waitMs);
    ended.push(
      client.executions
        .submit({ pipeline: 'bench' })
        .then(({ id }) => client.executions.cancel(id)),
    );
  }
  await Promise.all(ended);
  await all;
  await setPaused(stand, 1, true);
  const sorted = [...receiver.lags.values()].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? Number.NaN;
  const common = {
    ...{ suite: 'channels', case: `lag at ${PER_SECOND}/s`, store: kind },
    settings: { messages: count },
  };
  for (const part of [50, 95, 99]) {
    yield { ...common, metric: `lag p${part}`, value: at(part / 100), unit: 'ms' };
  }
}
