// Redis for tests: found or fetched, private, reached by a socket in its own folder, gone afterwards.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findRedisBinary, redisEnvironment } from './redis-binary.ts';

export interface PrivateRedis {
  /** The path of its Unix socket; it listens nowhere else unless a port was asked for. */
  readonly socket: string;
  readonly url: string;
  readonly source: string;
  /** Everything it has on disk. */
  readonly folder: string;
  /** Ends it as a crash would. What it has on disk stays. */
  kill(): Promise<void>;
  /** After `kill`: on the same data, at the same socket. */
  start(): Promise<void>;
  /** Idempotent. Its folder is gone when it returns. */
  stop(): Promise<void>;
}

export type RedisSettings = Readonly<Record<string, string>>;

/** Every write is on the disk before its answer leaves. */
export const FLUSHED_ALWAYS: RedisSettings = { appendonly: 'yes', appendfsync: 'always' };
/** The loss of the machine may take back the last second or two. */
export const FLUSHED_EVERY_SECOND: RedisSettings = { appendonly: 'yes', appendfsync: 'everysec' };

/** Durable as a guard and a lease need it. */
const SETTINGS: RedisSettings = {
  port: '0',
  ...FLUSHED_ALWAYS,
  save: '',
  'maxmemory-policy': 'noeviction',
};

/** Starts a private server that ends with this process at the latest, however this process ends. */
export async function startRedis(settings: RedisSettings = {}): Promise<PrivateRedis> {
  const binary = await findRedisBinary();
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-redis-'));
  const socket = join(folder, 'redis.sock');
  const all = { ...SETTINGS, ...settings, unixsocket: socket, dir: folder };
  const flags = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const supervisor = spawn(
    process.execPath,
    [join(import.meta.dirname, 'redis-supervisor.ts'), binary.program, folder, ...flags],
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'], env: redisEnvironment(binary) },
  );
  const ended = once(supervisor, 'exit');
  const lines = createInterface({ input: supervisor.stdout });
  const told = async (): Promise<void> => {
    const outcome = await Promise.race([once(lines, 'line'), ended.then(() => undefined)]);
    if (outcome === undefined) {
      throw new Error('Redis ended before it was ready; what it said is in the output above.');
    }
  };
  await told();
  const say = async (command: string): Promise<void> => {
    supervisor.stdin.write(`${command}\n`);
    await told();
  };
  supervisor.unref();
  if ('unref' in supervisor.stdin && typeof supervisor.stdin.unref === 'function') {
    supervisor.stdin.unref();
  }
  let stopped: Promise<void> | undefined;
  const end = async () => {
    supervisor.ref();
    supervisor.stdin.end();
    await ended;
  };
  return {
    socket,
    url: `unix://${socket}`,
    source: binary.source,
    folder,
    kill: () => say('kill'),
    start: () => say('start'),
    stop() {
      stopped ??= end();
      return stopped;
    },
  };
}
