// PostgreSQL under Patroni with etcd, on loopback: two servers, of which Patroni makes one the primary.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type PrivateEtcd, startEtcd } from './etcd.ts';
import { freePort } from './free-port.ts';
import { startWatchdog } from './postgres.ts';
import { findPostgresBinaries, postgresEnvironment } from './postgres-binaries.ts';
import { runCommand } from './run-command.ts';
import { type User, unprivilegedUser } from './unprivileged-user.ts';

interface Node {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly apiUrl: string;
  readonly watchdog: { release(): Promise<void> };
  /** Undefined while the node is down. */
  patroni: ChildProcess | undefined;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
}

const NODES = 2;
const LOOK_EVERY_MS = 100;
/** The shortest times that Patroni allows. */
const TIMES = { ttl: 20, loop_wait: 1, retry_timeout: 3 };
const PASSWORD = 'only-on-loopback';

export class PatroniCluster {
  readonly #etcd: PrivateEtcd;
  readonly #nodes: readonly Node[];
  readonly #user: User | undefined;
  readonly #env: NodeJS.ProcessEnv;
  /** The role of the standby that Patroni would promote. */
  readonly #follows: 'sync_standby' | 'replica';

  private constructor(
    etcd: PrivateEtcd,
    nodes: readonly Node[],
    rest: {
      readonly user: User | undefined;
      readonly env: NodeJS.ProcessEnv;
      readonly follows: 'sync_standby' | 'replica';
    },
  ) {
    this.#etcd = etcd;
    this.#nodes = nodes;
    this.#user = rest.user;
    this.#env = rest.env;
    this.#follows = rest.follows;
  }

  static async start(commits: 'synchronous' | 'asynchronous'): Promise<PatroniCluster> {
    await runCommand('patroni', ['--version']).catch((cause: unknown) => {
      const fix = 'Install it as root: apt-get install patroni';
      throw new Error(`Patroni does not run here. ${fix}`, { cause });
    });
    const binaries = await findPostgresBinaries();
    const user = await unprivilegedUser();
    const etcd = await startEtcd({ members: 1 });
    const nodes: Node[] = [];
    for (let nth = 1; nth <= NODES; nth += 1) {
      const name = `node-${nth}`;
      const folder = await mkdtemp(join(await realpath(tmpdir()), `holdfast-${name}-`));
      const [port, apiPort] = [await freePort(), await freePort()];
      const config = {
        scope: 'holdfast',
        name,
        restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
        etcd3: { url: etcd.endpoints[0] },
        bootstrap: {
          dcs: {
            ...TIMES,
            synchronous_mode: commits === 'synchronous',
            postgresql: {
              use_pg_rewind: true,
              parameters: { max_connections: 100, wal_keep_size: '128MB' },
            },
          },
          initdb: [{ encoding: 'UTF8' }, 'data-checksums', 'no-locale'],
        },
        postgresql: {
          listen: `127.0.0.1:${port}`,
          connect_address: `127.0.0.1:${port}`,
          data_dir: join(folder, 'data'),
          bin_dir: binaries.directory,
          pgpass: join(folder, 'pgpass'),
          pg_hba: [
            'local all all trust',
            'host all all 127.0.0.1/32 trust',
            'host replication all 127.0.0.1/32 trust',
          ],
          authentication: {
            superuser: { username: 'postgres', password: PASSWORD },
            replication: { username: 'replicator', password: PASSWORD },
          },
          parameters: { unix_socket_directories: folder },
        },
      };
      await writeFile(join(folder, 'patroni.json'), JSON.stringify(config));
      if (user !== undefined) await chown(folder, user.uid, user.gid);
      const watchdog = startWatchdog(folder);
      const apiUrl = `http://127.0.0.1:${apiPort}`;
      nodes.push({ name, folder, port, apiUrl, watchdog, patroni: undefined });
    }
    const follows = commits === 'synchronous' ? 'sync_standby' : 'replica';
    const env = postgresEnvironment(binaries);
    const cluster = new PatroniCluster(etcd, nodes, { user, env, follows });
    for (const node of nodes) cluster.#startNode(node);
    await cluster.untilWhole();
    return cluster;
  }

  get ports(): readonly number[] {
    return this.#nodes.map(({ port }) => port);
  }

  /** Runs statements on the current primary as its superuser. */
  async query(text: string): Promise<readonly pg.QueryResultRow[]> {
    const { port } = await this.#primary();
    const client = new pg.Client({
      connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  /**
   * The primary's whole node ends like a power failure. Returns when Patroni has promoted the other.
   * `behindMs`: the primary sends nothing to its standby in this time before its end.
   */
  async killPrimary({ behindMs = 0 } = {}): Promise<void> {
    const node = await this.#primary();
    if (behindMs > 0) {
      const senders = await this.query('select pid from pg_stat_replication');
      for (const { pid } of senders) process.kill(pid, 'SIGSTOP');
      await pause(behindMs);
    }
    const { patroni } = node;
    node.patroni = undefined;
    if (patroni !== undefined) {
      const ended = once(patroni, 'exit');
      patroni.kill('SIGKILL');
      await ended;
    }
    const [pid] = (await readFile(join(node.folder, 'data/postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGQUIT');
    while ((await this.#primary()) === node) await pause(LOOK_EVERY_MS);
  }

  /** A planned change of the primary, as an operator of PostgreSQL asks Patroni for it. */
  async switchOver(): Promise<void> {
    const { name, apiUrl } = await this.#primary();
    for (;;) {
      const body = JSON.stringify({ leader: name });
      const reply = await fetch(`${apiUrl}/switchover`, { method: 'POST', body });
      const text = await reply.text();
      if (reply.ok) break;
      // 412: the standby is not synchronous yet.
      if (reply.status !== 412) throw new Error(`Patroni refused the switchover: ${text}`);
      await pause(LOOK_EVERY_MS);
    }
    while ((await this.#primary()).name === name) await pause(LOOK_EVERY_MS);
  }

  /** Starts nodes that are down, and waits until the primary has its standby. */
  async untilWhole(): Promise<void> {
    for (const node of this.#nodes) if (node.patroni === undefined) this.#startNode(node);
    for (;;) {
      const members = await this.#members();
      const isFollower = ({ role, state }: Member): boolean =>
        role === this.#follows && ['running', 'streaming'].includes(state);
      if (members.some(isFollower) && members.some(isLeader) && (await this.#hasStream())) return;
      await pause(LOOK_EVERY_MS);
    }
  }

  async stop(): Promise<void> {
    for (const { patroni, watchdog, folder } of this.#nodes) {
      if (patroni !== undefined) {
        const ended = once(patroni, 'exit');
        patroni.kill('SIGKILL');
        await ended;
      }
      await watchdog.release();
      await rm(folder, { recursive: true, force: true });
    }
    await this.#etcd.stop();
  }

  #startNode(node: Node): void {
    const user = this.#user;
    const as = user && ['--reuid', `${user.uid}`, '--regid', `${user.gid}`, '--clear-groups'];
    // However this process ends, Patroni ends with it; then the watchdog ends the server.
    const words = [
      '--pdeathsig',
      'KILL',
      ...(as ?? []),
      'patroni',
      join(node.folder, 'patroni.json'),
    ];
    node.patroni = spawn('setpriv', words, {
      ...{ cwd: node.folder, env: this.#env, stdio: ['ignore', 'ignore', 'ignore'] },
    });
  }

  async #members(): Promise<readonly Member[]> {
    for (const { apiUrl, patroni } of this.#nodes) {
      if (patroni === undefined) continue;
      const found = await fetch(`${apiUrl}/cluster`).then(
        (reply) => reply.json() as Promise<{ readonly members?: readonly Member[] }>,
        () => undefined,
      );
      if (found?.members !== undefined) return found.members;
    }
    return [];
  }

  async #primary(): Promise<Node> {
    for (;;) {
      const name = (await this.#members()).find(isLeader)?.name;
      const node = this.#nodes.find((each) => each.name === name);
      if (node !== undefined) return node;
      await pause(LOOK_EVERY_MS);
    }
  }

  async #hasStream(): Promise<boolean> {
    const rows = await this.query(
      "select from pg_stat_replication where state = 'streaming'",
    ).catch(() => []);
    return rows.length > 0;
  }
}

function isLeader({ role, state }: Member): boolean {
  return ['leader', 'master', 'primary'].includes(role) && state === 'running';
}
