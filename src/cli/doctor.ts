// `holdfast doctor` checks the installation and names what to change.

import { readFile } from 'node:fs/promises';
import { setClockBack } from '../embedded/open-store.ts';
import type { Config } from '../server/config.ts';
import { isLoopback } from '../server/gate.ts';
import { shownPath } from '../support/hidden-options.ts';
import { type CommandSpec, type ExitCode, refuseWords, type Typed } from './command.ts';
import { configFlags, configuredBy } from './configuration.ts';
import { checkCoordinator } from './doctor-coordinator.ts';
import {
  faultText,
  fileFindings,
  portFindings,
  type StoreFinding,
  storeFindings,
} from './doctor-store.ts';
import { isAtLeast, leastNode } from './node-version.ts';
import { CONNECTION_FLAGS } from './remote/connection.ts';
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
