// etcd for tests and benches: found or fetched, a private cluster on loopback, removed afterwards.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EtcdBinary, findEtcdBinary } from './etcd-binary.ts';
import { type MemberPlace, type RunningMember, startMember } from './etcd-member.ts';
import { freePort } from './free-port.ts';

export interface EtcdOptions {
  readonly members?: number;
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PrivateEtcd {
  /** One URL for each member, in the order of their numbers. */
  readonly endpoints: readonly string[];
  readonly version: string;
  readonly source: string;
  /** Everything it has on disk. */
  readonly folder: string;
  /** The number of the current leader; asks until there is one. */
  leader(): Promise<number>;
  /** SIGKILL; its data stays. */
  kill(member: number): Promise<void>;
  /** A killed member comes back with its data, and is ready when this returns. */
  restart(member: number): Promise<void>;
  freeze(member: number): void;
  thaw(member: number): void;
  /** Idempotent. Removes its folder before it returns. */
  stop(): Promise<void>;
}

const MEMBERS = 3;
const START_ATTEMPTS_MAX = 3;

/** Starts a private cluster that ends with this process at the latest, however this process ends. */
export async function startEtcd(options: EtcdOptions = {}): Promise<PrivateEtcd> {
  const binary = await findEtcdBinary();
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-etcd-'));
  const watchdog = startWatchdog(folder);
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await watchdog.release();
    // Done by the watchdog already, unless something killed it.
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const members = await startMembers(binary, folder, options);
    return {
      endpoints: members.map(({ place }) => place.clientUrl),
      version: binary.version,
      source: binary.source,
      folder,
      leader: () => findLeader(members.map(({ place }) => place.clientUrl)),
      kill: (member) => memberOf(members, member).kill(),
      async restart(member) {
        const again = startMember(memberOf(members, member).place);
        members[member] = again;
        await again.ready();
      },
      freeze: (member) => memberOf(members, member).freeze(),
      thaw: (member) => memberOf(members, member).thaw(),
      stop() {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * A fresh prefix in the cluster that the runner started, or in a private cluster if a test file
 * runs by hand. Test files never see each other's keys.
 */
export async function etcdForTests(): Promise<{
  readonly endpoints: readonly string[];
  readonly prefix: string;
  release(): Promise<void>;
}> {
  const shared = process.env['HOLDFAST_TEST_ETCD_ENDPOINTS'];
  const own = shared === undefined ? await startEtcd() : undefined;
  return {
    endpoints: own?.endpoints ?? shared?.split(',') ?? [],
    prefix: `test-${randomBytes(8).toString('hex')}/`,
    release: async () => own?.stop(),
  };
}

/** Another process may take a port first; then all ports are chosen anew. */
async function startMembers(
  binary: EtcdBinary,
  folder: string,
  options: EtcdOptions,
): Promise<RunningMember[]> {
  for (let attempt = 1; ; attempt += 1) {
    const places = await choosePlaces(binary, join(folder, String(attempt)), options);
    const members = places.map(startMember);
    try {
      await Promise.all(members.map((member) => member.ready()));
      return members;
    } catch (error) {
      await Promise.all(members.map((member) => member.kill()));
      const portTaken = error instanceof Error && /address already in use/.test(error.message);
      if (!portTaken || attempt === START_ATTEMPTS_MAX) throw error;
    }
  }
}

async function choosePlaces(
  binary: EtcdBinary,
  folder: string,
  options: EtcdOptions,
): Promise<readonly MemberPlace[]> {
  const { members = MEMBERS, settings = {} } = options;
  const chosen: { name: string; clientUrl: string; peerUrl: string }[] = [];
  for (let number = 1; number <= members; number += 1) {
    const [clientUrl, peerUrl] = [await loopbackUrl(), await loopbackUrl()];
    chosen.push({ name: `member-${number}`, clientUrl, peerUrl });
  }
  const cluster = chosen.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(',');
  return chosen.map(({ name, clientUrl, peerUrl }) => {
    const all = {
      name,
      'data-dir': join(`${folder}-${name}`, 'data'),
      'listen-client-urls': clientUrl,
      'advertise-client-urls': clientUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': cluster,
      'initial-cluster-token': folder,
      'log-level': 'error',
      logger: 'zap',
      ...settings,
    };
    const flags = Object.entries(all).map(([flag, value]) => `--${flag}=${value}`);
    return { program: binary.program, folder: `${folder}-${name}`, name, clientUrl, flags };
  });
}

async function loopbackUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

function memberOf(members: readonly RunningMember[], member: number): RunningMember {
  const found = members[member];
  if (found === undefined) throw new Error(`there is no member ${member}`);
  return found;
}

interface Status {
  readonly header: { readonly member_id: string };
  readonly leader?: string;
}

async function findLeader(endpoints: readonly string[]): Promise<number> {
  for (;;) {
    const answers = await Promise.all(endpoints.map(statusOf));
    const leaders = new Set(answers.flatMap((status) => status?.leader ?? []));
    const number = answers.findIndex((status) => leaders.has(status?.header.member_id ?? ''));
    // During an election, and while its result travels, the members do not agree.
    if (leaders.size === 1 && number >= 0) return number;
  }
}

async function statusOf(endpoint: string): Promise<Status | undefined> {
  try {
    const answer = await fetch(`${endpoint}/v3/maintenance/status`, {
      method: 'POST',
      body: '{}',
      signal: AbortSignal.timeout(1_000),
    });
    return answer.ok ? ((await answer.json()) as Status) : undefined;
  } catch {
    return undefined;
  }
}

function startWatchdog(folder: string): { release(): Promise<void> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'etcd-watchdog.ts'), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(child, 'exit');
  child.unref();
  return {
    async release() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
