// Redis for tests: found or fetched, private, reached by a socket in its own folder, removed
// afterwards.

import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisBinary, redisEnvironment } from './redis-binary.ts';
import { type Supervisor, supervise } from './supervise.ts';

export interface PrivateRedis extends Supervisor {
  /** The path of its Unix socket. It listens nowhere else by default. */
  readonly socket: string;
  readonly url: string;
  readonly source: string;
  /** Everything it has on disk. */
  readonly folder: string;
}

export type RedisSettings = Readonly<Record<string, string>>;

/** Every write is on the disk before its answer leaves. */
export const FLUSHED_ALWAYS: RedisSettings = { appendonly: 'yes', appendfsync: 'always' };
/** The loss of the machine may take back the last second or two. */
export const FLUSHED_EVERY_SECOND: RedisSettings = { appendonly: 'yes', appendfsync: 'everysec' };

/** Durable enough for guards and leases. */
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
  const supervisor = await supervise(
    {
      ...{ name: 'Redis', program: binary.program, args: flags, folder },
      ready: ['server is now ready', 'Ready to accept connections'],
    },
    redisEnvironment(binary),
  );
  return {
    socket,
    url: `unix://${socket}`,
    source: binary.source,
    folder,
    ...supervisor,
  };
}
