// `holdfast doctor` checks the installation and names what to change.

import { readFile } from 'node:fs/promises';
import { callOperation } from '../client/calls.ts';
import { CallRefused } from '../client/client.ts';
import { setClockBack } from '../embedded/open-store.ts';
import type { OverviewMessage } from '../features/overview/messages.ts';
import { blockedIn } from '../features/overview/model.ts';
import type { CallerMessage } from '../protocol/messages/coordinator.ts';
import type { DepthMessage, WorkerMessage } from '../protocol/messages/sessions.ts';
import type { Config } from '../server/config.ts';
import { isLoopback } from '../server/gate.ts';
import { Fault } from '../support/fault.ts';
import { shownPath } from '../support/hidden-options.ts';
import { untrustedText } from '../support/no-reply.ts';
import { type CommandSpec, type ExitCode, refuseWords, type Typed } from './command.ts';
import { configFlags, configuredBy } from './configuration.ts';
import {
  faultText,
  fileFindings,
  portFindings,
  type StoreFinding,
  storeFindings,
} from './doctor-store.ts';
import { isAtLeast, leastNode } from './node-version.ts';
import { CONNECTION_FLAGS, clientFor, urlFor } from './remote/connection.ts';
import { listenersInTheClear } from './run-server.ts';
import { print, printLine, printTable } from './screen.ts';
import { sharedKeysFindings, startFindings } from './start-findings.ts';

export const doctorCommand: CommandSpec = {
  usage: 'holdfast doctor [--url …] [--store …] [--config …] [--set-clock-back] [--json]',
  flags: {
    ...configFlags(),
    'set-clock-back': {
      help: "Set the time of a SQLite store back to this host's clock, then check",
    },
    ...CONNECTION_FLAGS,
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(doctorCommand, typed);
  const findings = [
    nodeFinding(process.versions.node, await leastNode()),
    ...(await checkRunning(typed)),
  ];
  const wrong = findings.filter(({ change }) => change !== undefined);
  if (typed.isSet('json')) for (const finding of findings) printLine(finding);
  else {
    printTable(
      findings.map(({ what, found, change }) => [change === undefined ? 'ok' : '!!', what, found]),
    );
    for (const { what, change = '' } of wrong) print(`\n${what}: ${change}`);
    print(
      wrong.length === 0
        ? '\nNo problems found.'
        : `\n${wrong.length} ${wrong.length === 1 ? 'problem' : 'problems'} found.`,
    );
  }
  return wrong.length === 0 ? 0 : 1;
}

/** An unreadable configuration is a finding, too; the other checks still run. */
async function checkRunning(typed: Typed): Promise<readonly StoreFinding[]> {
  const read = await configuredBy(typed).catch((fault: unknown) => faultText(fault));
  if (typeof read === 'string') {
    return [{ what: 'configuration', found: 'cannot be used', change: read }];
  }
  const { config, settings } = read;
  if (typed.isSet('set-clock-back')) await setClockBack(config.store);
  const running = await checkCoordinator(typed);
  const given = settings.filter(({ from }) => from !== 'default');
  // The defaults of "serve" are not the settings of the running coordinator.
  if (running.isRunning && given.length === 0) return running.findings;
  const isStoreGiven = given.some(({ name }) => name === 'store');
  const configured = {
    what: 'configuration',
    found: 'every setting is valid; the findings below are for "holdfast serve" in this folder',
  };
  return [
    ...running.findings,
    configured,
    ...(await configFindings(config)),
    ...(await startFindings(config)),
    ...(await fileFindings(config)),
    ...(await portFindings(config)),
    ...(running.isRunning && !isStoreGiven ? [] : await storeFindings(config)),
  ];
}

export function nodeFinding(version: string, least: string): StoreFinding {
  const found = { what: 'Node', found: version };
  const change = `Holdfast needs Node ${least} or newer. Upgrade Node.`;
  return isAtLeast(version, least) ? found : { ...found, change };
}

const TRUSTS_EVERY_PROXY: StoreFinding = {
  what: 'trustProxy',
  found: 'true: every client can set X-Forwarded-For',
  change:
    'Clients can choose the address that the coordinator counts and logs, so they bypass the limit for wrong keys. List your proxies instead: --trust-proxy 10.0.0.7',
};

async function configFindings(config: Config): Promise<readonly StoreFinding[]> {
  const { auth, host, tls, trustProxy } = config;
  const inTheClear = listenersInTheClear(config);
  const listens = { what: 'listener', found: `${host}, auth ${auth}` };
  const findings: StoreFinding[] = [];
  if (auth === 'off' && !isLoopback(host)) {
    findings.push({
      ...listens,
      change: 'Without access keys it listens only on loopback. Start it with --auth keys.',
    });
  } else if (inTheClear.length > 0) {
    const change = `Access keys travel unencrypted (${inTheClear.join(', ')}). Set tls.keyFile and tls.certFile, or put a proxy in front and set trustProxy.`;
    findings.push({ ...listens, change });
  } else findings.push(listens);
  if (trustProxy === true) findings.push(TRUSTS_EVERY_PROXY);
  findings.push(...(await sharedKeysFindings(config.push)));
  for (const name of ['keyFile', 'certFile'] as const) {
    const file = tls[name];
    if (file !== undefined) findings.push(await fileFinding(`tls.${name}`, file));
  }
  if ((tls.keyFile === undefined) !== (tls.certFile === undefined)) {
    findings.push({
      what: 'tls',
      found: 'one file of two',
      change: 'Set both tls.keyFile and tls.certFile.',
    });
  }
  return findings;
}

async function fileFinding(what: string, file: string): Promise<StoreFinding> {
  return readFile(file).then(
    () => ({ what, found: shownPath(file) }),
    (fault: NodeJS.ErrnoException) => ({
      what,
      found: `${shownPath(file)} cannot be read (${fault.code})`,
      change: 'Pass a file that this user can read.',
    }),
  );
}

// Checks the running coordinator: its response, its store, and its workers.

const WORKERS_MAX = 1_000;
const NAMES_MAX = 5;

interface CheckedCoordinator {
  /** True if a coordinator responds and admits this caller. */
  readonly isRunning: boolean;
  readonly findings: readonly StoreFinding[];
}

async function checkCoordinator(typed: Typed): Promise<CheckedCoordinator> {
  const client = await clientFor(typed);
  const url = urlFor(typed);
  const what = 'coordinator';
  try {
    const caller = await callOperation(client, 'GET /v1/caller');
    const { kind, survives } = caller.store;
    const running = {
      what,
      found: `${url} responds; its store is ${kind}, which survives ${survives}`,
    };
    const findings = [running, listenerFinding(new URL(url), caller)];
    if (!caller.roles.includes('operate')) return { isRunning: true, findings };
    const [workers, depth, overview] = await Promise.all([
      client.sessions.workers({ limit: WORKERS_MAX }),
      client.executions.depth(),
      client.overview.read(),
    ]);
    const work = [workersFinding(workers.items, depth), blockedFinding(overview)];
    return { isRunning: true, findings: [...findings, ...work] };
  } catch (fault) {
    if (fault instanceof CallRefused) {
      const change = `${fault.message} Set HOLDFAST_KEY to a key of this coordinator.`;
      return { isRunning: false, findings: [{ what, found: `${url} refuses this key`, change }] };
    }
    if (!(fault instanceof Fault)) throw fault;
    const change = untrustedText(fault.cause);
    if (change !== undefined) {
      const found = `${url} has a certificate that this process does not trust`;
      return { isRunning: false, findings: [{ what, found, change }] };
    }
    // Without --url, doctor also serves to check a folder before the first start.
    const none =
      typed.text('url') !== undefined
        ? { found: `none at ${url}`, change: 'Start a coordinator there, or pass the URL of one.' }
        : { found: `none at ${url}; pass --url to check another address` };
    return { isRunning: false, findings: [{ what, ...none }] };
  }
}

/** Combines the coordinator's own report with the URL that reached it. */
export function listenerFinding(url: URL, { auth, hasAdmin }: CallerMessage): StoreFinding {
  const isEncrypted = url.protocol === 'https:';
  const finding = {
    what: 'its listener',
    found: `${isEncrypted ? 'TLS' : 'no TLS'}, auth ${auth}, admin routes ${hasAdmin ? 'here' : 'not here'}`,
  };
  if (isEncrypted || auth === 'off' || isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
    return finding;
  const change =
    'Access keys travel unencrypted. Use https: set tls.keyFile and tls.certFile, or put a proxy in front.';
  return { ...finding, change };
}

export function blockedFinding(overview: Pick<OverviewMessage, 'pipelines'>): StoreFinding {
  const { count, capped } = blockedIn(overview);
  const what = 'blocked executions';
  if (count === 0) return { what, found: 'none' };
  const names = overview.pipelines.flatMap(({ pipeline, blocked }) => (blocked ? [pipeline] : []));
  return {
    what,
    found: `${count}${capped ? '+' : ''} of ${[...new Set(names)].slice(0, NAMES_MAX).join(', ')}`,
    change:
      'Their code threw outside of a step, or does not match their history. Run "holdfast list --hold blocked", then "holdfast explain <id>" for the cause.',
  };
}

/** Covers workers, not the shared duties of a coordinator. */
export function workersFinding(
  all: readonly WorkerMessage[],
  { lanes }: DepthMessage,
): StoreFinding {
  const workers = all.filter(({ kind, work }) => kind !== 'coordinator' && work !== 'gone');
  const stuck = workers.filter(({ work }) => work === 'stuck');
  const refused = workers.filter((each) => each.refused !== undefined);
  const ready = lanes.reduce((sum, lane) => sum + lane.ready, 0);
  const found = [
    `${workers.length}`,
    ...(stuck.length === 0 ? [] : [`${stuck.length} stuck`]),
    ...(refused.length === 0 ? [] : [`${refused.length} refused`]),
    `${ready} executions ready`,
  ].join(', ');
  const finding = { what: 'workers', found };
  if (stuck.length + refused.length > 0) {
    return { ...finding, change: 'Run "holdfast workers" to see which ones, and restart them.' };
  }
  if (workers.length > 0 || ready === 0) return finding;
  return { ...finding, change: 'No worker runs, and executions wait. Start one.' };
}
