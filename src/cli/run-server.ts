// A coordinator from its configuration until somebody stops it.

import { openStore } from '../embedded/open-store.ts';
import { type Config, hidden } from '../server/config.ts';
import { sqsOf } from '../server/configured-carriers.ts';
import { openServer, type Server } from '../server/serve.ts';
import type { ServerLog, ServerOptions } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { stopAsked } from '../support/stop-asked.ts';
import type { ExitCode } from './command.ts';
import { logOf } from './log.ts';
import { printProblem } from './screen.ts';
import { listenersInTheClear, serverOptionsOf } from './server-options-of.ts';
import { startFindings } from './start-findings.ts';

export interface Beside {
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly config: Config;
  /** What runs beside it, on the same store. */
  readonly beside?: (store: CoordinatorStore, log: ServerLog, url: string) => Promise<Beside>;
  readonly demo?: NonNullable<ServerOptions['demo']>;
}

export async function runServer(options: RunOptions): Promise<ExitCode> {
  const over = new AbortController();
  try {
    return await run(options, stopAskedOnce(over.signal));
  } finally {
    over.abort();
  }
}

async function run(
  { config, beside, demo }: RunOptions,
  asked: Promise<string>,
): Promise<ExitCode> {
  const log = logOf(config.log);
  await refuseWrong(config);
  const options = await serverOptionsOf(config);
  const queues = await sqsOf(config.sqs);
  const store = await openStore(config.store, config.postgres);
  try {
    const given = { ...options, ...(queues && { sqs: queues.sqs }), ...(demo && { demo }) };
    const server = await openServer({ ...given, store, log }).catch(explainListening(config));
    try {
      // First: it answers already, whatever else there is still to start.
      announce(config, { server, store, log });
      const others = await beside?.(store, log, server.url);
      log.info('stopping', { because: await asked });
      await others?.stop();
    } finally {
      await server.close();
    }
  } finally {
    await store.close();
    queues?.client.destroy();
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
    const why = fault.code === 'EACCES' ? 'may not be listened on' : 'is taken';
    throw new InvalidInput(
      `${host}:${port} ${why} (${fault.code}). Is another coordinator running here? Choose another with ${flag}; port 0 takes any that is free.`,
      { cause: fault },
    );
  };
}

/** The second signal ends the process at once. */
async function stopAskedOnce(over: AbortSignal): Promise<string> {
  const reason = await stopAsked(over);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(1));
  return reason;
}

interface Announced {
  readonly server: Server;
  readonly store: CoordinatorStore;
  readonly log: ServerLog;
}

function announce(config: Config, { server, store, log }: Announced): void {
  const { url, adminUrl, grpcAddress, firstKey } = server;
  log.info('listening', {
    url,
    ...(config.console === 'on' ? { console: `${url}/console/` } : {}),
    ...(adminUrl === undefined ? {} : { adminUrl }),
    ...(grpcAddress === undefined ? {} : { grpc: grpcAddress }),
    store: `${store.kind} ${String(hidden('store', config.store))}`,
    survives: store.durability,
    auth: config.auth,
    admin: adminTold(config.admin),
    pid: process.pid,
  });
  if (firstKey !== undefined) {
    loudly([
      'THE FIRST KEY OF THIS STORE: it may do everything, and it is shown only now.',
      '',
      `  ${firstKey}`,
      '',
      'Keep it where secrets are kept. To use it here:  export HOLDFAST_KEY=…',
    ]);
  }
  if (config.auth === 'off') {
    loudly([
      'AUTHENTICATION IS OFF: every program that can reach this port may do everything.',
      'It listens on loopback only. For anything but this machine: holdfast serve --auth keys',
    ]);
  }
  const inTheClear = listenersInTheClear(config);
  if (inTheClear.length > 0) {
    loudly([
      `KEYS TRAVEL IN THE CLEAR: ${inTheClear.join(', ')}: no loopback address, and no TLS.`,
      'Set tls.keyFile and tls.certFile, or put a proxy in front and set trustProxy.',
    ]);
  }
}

function adminTold(admin: string): string {
  if (admin === 'off') return 'off (--admin main, or a listener: --admin 127.0.0.1:7434)';
  return `${admin === 'main' ? 'on' : `on ${admin}`} (holdfast projects, holdfast keys)`;
}

/** To stderr, whatever the log is like. */
function loudly(lines: readonly string[]): void {
  const rule = '='.repeat(78);
  printProblem([rule, ...lines, rule].join('\n'));
}
