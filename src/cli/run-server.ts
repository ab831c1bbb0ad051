// Runs a coordinator from its configuration until a signal stops it.

import { readFile } from 'node:fs/promises';
import type { Archive } from '../archive/port.ts';
import { openStore } from '../embedded/open-store.ts';
import type { KeepMs } from '../features/retention/model.ts';
import { type Config, hidden } from '../server/config.ts';
import {
  type ConfiguredChannels,
  channelOptionsOf,
  linksOf,
  pushOf,
  sqsOf,
} from '../server/configured-transports.ts';
import { siteFile } from '../server/docs-files.ts';
import { isLoopback } from '../server/gate.ts';
import { openServer, type Server } from '../server/serve.ts';
import type { ServerOptions } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { present } from '../support/options.ts';
import { stopRequested } from '../support/stop-requested.ts';
import type { ExitCode } from './command.ts';
import { type CliLog, logOf } from './log.ts';
import { printProblem } from './screen.ts';
import { startFindings } from './start-findings.ts';

export interface Beside {
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly config: Config;
  /** Runs beside it, on the same store. */
  readonly beside?: (store: CoordinatorStore, log: CliLog, url: string) => Promise<Beside>;
  readonly demo?: NonNullable<ServerOptions['demo']>;
  /** True: serve the documentation too. */
  readonly docs?: boolean;
}

export async function runServer(options: RunOptions): Promise<ExitCode> {
  const over = new AbortController();
  try {
    return await run(options, stopRequestedOnce(over.signal));
  } finally {
    over.abort();
  }
}

async function run(
  { config, beside, demo, docs = config.docs }: RunOptions,
  stopReason: Promise<string>,
): Promise<ExitCode> {
  const log = logOf(config.log);
  await refuseWrong(config);
  const options = await serverOptionsOf(config);
  const queues = await sqsOf(config.sqs);
  const store = await openStore(config.store, config.postgres);
  try {
    const given = { ...options, docs, ...(queues && { sqs: queues.sqs }), ...(demo && { demo }) };
    const server = await openServer({ ...given, store, log }).catch(explainListening(config));
    try {
      // Announce first: the server already responds, whatever else still has to start.
      announce(config, { server, store, log, docs });
      const others = await beside?.(store, log, server.url);
      log.info('stopping', { because: await stopReason });
      await others?.stop();
    } finally {
      await server.close();
    }
  } finally {
    await store.close();
    queues?.client.destroy();
    options.channels?.sqs?.client.destroy();
  }
  log.info('stopped');
  return 0;
}

async function refuseWrong(config: Config): Promise<void> {
  for (const { what, found, change } of await startFindings(config)) {
    if (change !== undefined) throw new InvalidInput(`${what}: ${found}. ${change}`);
  }
}

type ListenFault = NodeJS.ErrnoException & { readonly address?: string; readonly port?: number };

function explainListening(config: Config): (fault: ListenFault) => never {
  return (fault) => {
    if (fault.code !== 'EADDRINUSE' && fault.code !== 'EACCES') throw fault;
    const { address: host = config.host, port = config.port } = fault;
    const flag = port === config.port ? '--port' : '--admin';
    const why = fault.code === 'EACCES' ? 'is not allowed for this user' : 'is in use';
    throw new Fault(
      'listen-failed',
      `${host}:${port} ${why} (${fault.code}). The coordinator did not start. Stop the other program, or choose another address with ${flag}. Port 0 takes a free one.`,
      { cause: fault },
    );
  };
}

/** The second signal ends the process at once. */
async function stopRequestedOnce(over: AbortSignal): Promise<string> {
  const reason = await stopRequested(over);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(1));
  return reason;
}

interface Announced {
  readonly server: Server;
  readonly store: CoordinatorStore;
  readonly log: CliLog;
  readonly docs: boolean;
}

function announce(config: Config, { server, store, log, docs }: Announced): void {
  const { url, adminUrl, grpcAddress, firstKey } = server;
  log.info('listening', {
    url,
    ...(config.console === 'on' ? { console: `${url}/console/` } : {}),
    ...(docs && siteFile() !== undefined ? { docs: `${url}/docs/` } : {}),
    ...present({ adminUrl, grpc: grpcAddress }),
    store: `${store.kind} ${String(hidden('store', config.store))}`,
    survives: store.durability,
    auth: config.auth,
    admin: adminText(config.admin),
    pid: process.pid,
  });
  if (firstKey !== undefined) {
    printWarning([
      'FIRST ACCESS KEY OF THIS STORE: it allows everything and is shown only once.',
      '',
      `  ${firstKey}`,
      '',
      'Keep it with your secrets. To use it in this shell:  export HOLDFAST_KEY=…',
    ]);
  }
  if (config.auth === 'off') {
    printWarning([
      'AUTHENTICATION IS OFF: every program that reaches this port can do everything.',
      'It listens only on loopback. To serve other machines: holdfast serve --auth keys',
    ]);
  }
  const inTheClear = listenersInTheClear(config);
  if (inTheClear.length > 0) {
    printWarning([
      `ACCESS KEYS TRAVEL UNENCRYPTED: ${inTheClear.join(', ')}: not loopback, and no TLS.`,
      'Set tls.keyFile and tls.certFile, or put a proxy in front and set trustProxy.',
    ]);
  }
}

function adminText(admin: string): string {
  if (admin === 'off') return 'off (--admin main, or a listener: --admin 127.0.0.1:7434)';
  return `${admin === 'main' ? 'on' : `on ${admin}`} (holdfast projects, holdfast keys)`;
}

/** Writes to stderr, whatever the format of the log. */
function printWarning(lines: readonly string[]): void {
  const rule = '='.repeat(78);
  printProblem([rule, ...lines, rule].join('\n'));
}

// Builds the options of a coordinator from its configuration. `sqsOf` builds those for queues of
// workers. Both return clients to close.

interface ConfiguredOptions extends Omit<ServerOptions, 'store'> {
  readonly channels?: ConfiguredChannels;
}

export async function serverOptionsOf(config: Config): Promise<ConfiguredOptions> {
  const { host, port, auth, limits, quotas, trustProxy, maintenance, publicMetrics, docs } = config;
  const [tls, retention, push, links, channels] = await Promise.all([
    tlsOf(config.tls),
    retentionOf(config),
    pushOf(config.push),
    linksOf(config.links),
    channelOptionsOf(config),
  ]);
  return {
    ...{ host, port, auth, limits, quotas, trustProxy, maintenance, publicMetrics, docs },
    admin: adminOf(config.admin),
    console: config.console === 'on',
    logRequests: config.log.requests,
    logIdle: config.log.idle,
    ...(config.grpc === 'off' ? {} : { grpc: listenerOf(config.grpc) }),
    ...(tls && { tls }),
    ...(retention && { retention }),
    ...(push && { push }),
    ...(links && { links }),
    ...(channels && { channels }),
  };
}

async function tlsOf({
  keyFile,
  certFile,
  minVersion,
}: Config['tls']): Promise<ServerOptions['tls']> {
  if (keyFile === undefined && certFile === undefined) return undefined;
  if (keyFile === undefined || certFile === undefined) {
    throw new InvalidInput(
      'TLS needs both tls.keyFile and tls.certFile, and only one is set. The coordinator did not start.',
    );
  }
  const [key, cert] = await Promise.all([readFile(keyFile, 'utf8'), readFile(certFile, 'utf8')]);
  return { key, cert, ...(minVersion && { minVersion }) };
}

/**
 * Listeners on which keys can be read in transit. A proxy may terminate TLS, but gRPC still has its
 * own port.
 */
export function listenersInTheClear(config: Config): readonly string[] {
  const { auth, tls, trustProxy } = config;
  if (auth === 'off' || tls.keyFile !== undefined) return [];
  const admin = adminOf(config.admin);
  const hosts = {
    ...(trustProxy === false && { host: config.host }),
    ...(trustProxy === false && typeof admin === 'object' && { admin: admin.host }),
    ...(config.grpc !== 'off' && { grpc: listenerOf(config.grpc).host }),
  };
  return Object.entries(hosts).flatMap(([name, host = '']) =>
    isLoopback(host) ? [] : [`${name} ${host}`],
  );
}

function adminOf(text: string): NonNullable<ServerOptions['admin']> {
  return text === 'off' || text === 'main' ? text : listenerOf(text);
}

function listenerOf(text: string): { readonly host: string; readonly port: number } {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
}

const DAY_MS = 86_400_000;

async function retentionOf(config: Config): Promise<ServerOptions['retention']> {
  const { withoutArchive, everyMs } = config.retention;
  const keepMs = keepOf(config.retention);
  const archive = await archiveOf(config.archive);
  if (archive !== undefined && withoutArchive) {
    throw new InvalidInput(
      'archive and retention.withoutArchive are both set. The coordinator did not start. Remove one of them.',
    );
  }
  if (archive === undefined && !withoutArchive) {
    if (Object.keys(keepMs).length === 0) return undefined;
    throw new InvalidInput(
      'retention is set without an archive. The coordinator did not start. Set archive.folder, or archive.url and archive.bucket. To delete executions without archiving them, set retention.withoutArchive.',
    );
  }
  return { archive: archive ?? 'none', keepMs, ...(everyMs === undefined ? {} : { everyMs }) };
}

function keepOf(retention: Config['retention']): KeepMs {
  const { completedDays, failedDays, cancelledDays, quarantinedDays } = retention;
  const { compensatedDays, deadLetterDays } = retention;
  const days = {
    completed: completedDays,
    failed: failedDays,
    cancelled: cancelledDays,
    quarantined: quarantinedDays,
    compensated: compensatedDays,
    deadLetter: deadLetterDays,
  };
  return Object.fromEntries(
    Object.entries(days).flatMap(([name, count]) =>
      count === undefined ? [] : [[name, count * DAY_MS]],
    ),
  );
}

/** Loads only the configured driver. */
async function archiveOf(given: Config['archive']): Promise<Archive | undefined> {
  const { folder, url, bucket, accessKeyId, secretAccessKey, ...rest } = given;
  if (folder !== undefined && url !== undefined) {
    throw new InvalidInput(
      'archive.folder and archive.url are both set. The coordinator did not start. Remove one of them.',
    );
  }
  if (folder !== undefined) {
    const { openFolderArchive } = await import('../archive/folder.ts');
    return openFolderArchive({ folder });
  }
  if (url === undefined) return undefined;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new InvalidInput(
      'archive.url also needs archive.bucket, archive.accessKeyId and archive.secretAccessKey. The coordinator did not start.',
    );
  }
  const { openS3Archive } = await import('../archive/s3.ts');
  return openS3Archive({ url, bucket, accessKeyId, secretAccessKey, ...rest });
}
