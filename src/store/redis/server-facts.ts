// Reads the server's settings, and derives the durability of acknowledged writes.

import { Fault } from '../../support/fault.ts';
import { type Script, script } from './lua.ts';

/** One script, so that in a cluster the node that owns the store's hash slot replies. */
export const READ_SERVER: Script = script(`
  return {
    redis.call('INFO', 'server'), redis.call('INFO', 'replication'),
    redis.call('INFO', 'persistence'), redis.call('INFO', 'memory'),
    META,
  }
`);

export interface ServerFacts {
  readonly version: string;
  /** Identifies this one process. It changes with a restart. */
  readonly runId: string;
  /** Describes where the data is. It is the same after a restart in place. */
  readonly place: string;
  /**
   * `always`, `everysec` or `no`. `off` without an append-only file, `unknown` if the user may not
   * read it.
   */
  readonly flush: 'always' | 'everysec' | 'no' | 'off' | 'unknown';
  readonly hasReplicas: boolean;
  /** The server was a replica before, and may not have received everything. */
  readonly wasPromoted: boolean;
  readonly isReplica: boolean;
  /** The server drops keys when it is full. */
  readonly evicts: boolean;
}

/** The reply of `CONFIG GET`. Empty if the user may not read it. */
export type ServerConfig = Readonly<Record<string, string | undefined>>;

export function factsOf(info: string, config: ServerConfig): ServerFacts {
  const value = (name: string): string =>
    new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  return {
    version: value('redis_version'),
    runId: value('run_id'),
    place: [value('redis_mode'), config['dir'], config['port'], config['unixsocket']].join(' '),
    flush: flushOf(value('aof_enabled') === '1', config),
    hasReplicas: Number(value('connected_slaves')) > 0,
    wasPromoted: /[1-9a-f]/.test(value('master_replid2')),
    isReplica: value('role') === 'slave',
    evicts: value('maxmemory_policy').startsWith('allkeys') && value('maxmemory') !== '0',
  };
}

function flushOf(hasLog: boolean, config: ServerConfig): ServerFacts['flush'] {
  if (!hasLog) return 'off';
  const flush = config['appendfsync'];
  if (flush !== 'always' && flush !== 'everysec' && flush !== 'no') return 'unknown';
  // With this setting, Redis does not flush while it rewrites the file, whatever `appendfsync` is.
  const pauses = config['no-appendfsync-on-rewrite'] === 'yes';
  return flush === 'always' && pauses ? 'everysec' : flush;
}

/** Returns true if a restart in the same place keeps every acknowledged write. */
export function isTrusted(facts: ServerFacts): boolean {
  return facts.flush === 'always' && !facts.hasReplicas && !facts.wasPromoted;
}

const FLUSHED: Readonly<Record<ServerFacts['flush'], string>> = {
  always: 'the loss of the machine (AOF, appendfsync always)',
  everysec:
    'the end of a process; the loss of the machine may take back the last two seconds (AOF, appendfsync everysec)',
  no: 'the end of a process; the loss of the machine may take back half a minute (AOF, appendfsync no)',
  off: 'nothing: a restart of the server may forget everything (no AOF)',
  unknown: 'depends on the settings of the server, which it does not report',
};

/** Reports durability as the server's settings provide it. */
export function describeDurability(facts: ServerFacts): string {
  const text = FLUSHED[facts.flush];
  if (!facts.hasReplicas) return text;
  return `${text}; a failover may take back what its replica had not received`;
}

/** Throws unless this server can keep leases at all. */
export function demandFit(facts: ServerFacts, wanted: 'aof' | 'any'): void {
  const [major = 0, minor = 0] = facts.version.split('.').map(Number);
  if (major < 6 || (major === 6 && minor < 2)) {
    throw new Fault(
      'server-too-old',
      `Holdfast needs Redis 6.2 or newer; this is ${facts.version}. Nothing was opened. Upgrade the server.`,
    );
  }
  if (facts.isReplica) {
    throw new Fault(
      'server-read-only',
      'This Redis is a replica, and only the primary keeps leases. Nothing was opened. Pass the address of the primary, or a client that finds it.',
    );
  }
  if (facts.evicts) {
    throw new Fault(
      'not-durable',
      'This Redis evicts any key when it is full (maxmemory-policy allkeys-…), even the counter of fences. Nothing was opened. Set maxmemory-policy noeviction, or use another server.',
    );
  }
  if (facts.flush === 'off' && wanted === 'aof') {
    throw new Fault(
      'not-durable',
      'This Redis has no append-only file, so a restart loses all leases. Nothing was opened. Set appendonly yes. If you accept the loss, open the store with durability: "any".',
    );
  }
}
