// holdfast doctor: is everything as it must be, and if not, what is to be changed?

import { readFile } from 'node:fs/promises';
import { inspectStore, setClockBack } from '../embedded/inspect-store.ts';
import { type Config, hidden } from '../server/config.ts';
import { isLoopback } from '../server/same-host.ts';
import type { StoreReport } from '../store/contract/store-report.ts';
import { Fault } from '../support/fault.ts';
import { shownPath, withoutSecrets } from '../support/hidden-options.ts';
import { type CommandSpec, type ExitCode, refuseWords, type Typed } from './command.ts';
import { configFlags, configuredBy } from './configuration.ts';
import { portFindings } from './doctor-ports.ts';
import type { Finding } from './finding.ts';
import { missingOf } from './migrate.ts';
import { isAtLeast, leastNode } from './node-version.ts';
import { print, printLine, printTable } from './screen.ts';
import { sharedKeysFindings, startFindings } from './start-findings.ts';

export const doctorCommand: CommandSpec = {
  usage: 'holdfast doctor [--store …] [--config …] [--set-clock-back] [--json]',
  flags: {
    ...configFlags(),
    'set-clock-back': {
      type: 'boolean',
      what: 'Set the time of a SQLite store back to this host’s clock, then check',
    },
    json: { type: 'boolean', what: 'for programs: one JSON per line' },
  },
  execute,
};

/** By then sessions that are alive may look dead, and the other way round. */
const CLOCK_MS_MAX = 1_000;

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(doctorCommand, typed);
  const findings = [
    nodeFinding(process.versions.node, await leastNode()),
    ...(await lookAt(typed)),
  ];
  const wrong = findings.filter(({ change }) => change !== undefined);
  if (typed.isSet('json')) for (const finding of findings) printLine(finding);
  else {
    printTable(
      findings.map(({ what, found, change }) => [change === undefined ? 'ok' : '!!', what, found]),
    );
    for (const { what, change = '' } of wrong) print(`\n${what}: ${change}`);
    print(wrong.length === 0 ? '\nNothing is wrong.' : `\n${wrong.length} to change.`);
  }
  return wrong.length === 0 ? 0 : 1;
}

/** What cannot be read is a finding too: the rest is still looked at. */
async function lookAt(typed: Typed): Promise<readonly Finding[]> {
  const read = await configuredBy(typed).catch((fault: unknown) => faultText(fault));
  if (typeof read === 'string') {
    return [{ what: 'configuration', found: 'cannot be used', change: read }];
  }
  const { config } = read;
  if (typed.isSet('set-clock-back')) await setClockBack(config.store);
  const configured = { what: 'configuration', found: 'every name and value is known' };
  return [
    configured,
    ...(await configFindings(config)),
    ...(await startFindings(config)),
    ...(await portFindings(config)),
    ...(await storeFindings(config)),
  ];
}

function faultText(fault: unknown): string {
  if (fault instanceof Fault) return fault.message;
  if (fault instanceof Error) return fault.message;
  return String(fault);
}

export function nodeFinding(version: string, least: string): Finding {
  const found = { what: 'Node', found: version };
  const change = `Holdfast needs Node ${least} or newer.`;
  return isAtLeast(version, least) ? found : { ...found, change };
}

const BELIEVES_ANYBODY: Finding = {
  what: 'trustProxy',
  found: 'true: X-Forwarded-For is believed, whoever sends it',
  change:
    'Whoever reaches this port says from which address it comes, and so is never counted for wrong keys, and is in the log under any address. Name your proxies instead: --trust-proxy 10.0.0.7',
};

async function configFindings(config: Config): Promise<readonly Finding[]> {
  const { auth, host, tls, trustProxy } = config;
  const listens = { what: 'listener', found: `${host}, auth ${auth}` };
  const findings: Finding[] = [];
  if (auth === 'off' && !isLoopback(host)) {
    findings.push({ ...listens, change: 'Without keys it listens on loopback only: --auth keys' });
  } else if (!isLoopback(host) && tls.keyFile === undefined && trustProxy === false) {
    const change =
      'Keys travel in the clear: set tls.keyFile and tls.certFile, or put a proxy before it and set trustProxy.';
    findings.push({ ...listens, change });
  } else findings.push(listens);
  if (trustProxy === true) findings.push(BELIEVES_ANYBODY);
  findings.push(...(await sharedKeysFindings(config.push)));
  for (const name of ['keyFile', 'certFile'] as const) {
    const file = tls[name];
    if (file !== undefined) findings.push(await fileFinding(`tls.${name}`, file));
  }
  if ((tls.keyFile === undefined) !== (tls.certFile === undefined)) {
    findings.push({ what: 'tls', found: 'one file of two', change: 'Name keyFile and certFile.' });
  }
  return findings;
}

async function fileFinding(what: string, file: string): Promise<Finding> {
  return readFile(file).then(
    () => ({ what, found: shownPath(file) }),
    (fault: NodeJS.ErrnoException) => ({
      what,
      found: `${shownPath(file)} cannot be read (${fault.code})`,
      change: 'Name a file that this user can read.',
    }),
  );
}

async function storeFindings(config: Config): Promise<readonly Finding[]> {
  const store = String(hidden('store', config.store));
  const report = await inspectStore(config.store, config.postgres).catch(unread);
  if ('why' in report) {
    return [{ what: 'store', found: `${store} cannot be read`, change: report.why }];
  }
  return [
    { what: 'store', found: store },
    ...report.facts.map(({ name, ...fact }) => ({ what: name, ...fact })),
    schemaFinding(report),
    clockFinding(report),
  ];
}

/** What is missing on this side says itself what to do. */
function unread(fault: unknown): { readonly why: string } {
  const why = withoutSecrets(faultText(fault)).replace(/\.?$/, '.');
  if (fault instanceof Fault && fault.code === 'driver-missing') return { why };
  return {
    why: `${why} Is it running, is store (--store, HOLDFAST_STORE) right, and may this user read it?`,
  };
}

function schemaFinding(report: StoreReport): Finding {
  const { exists, applied, known, forbidding } = report;
  if (!exists) return { what: 'schema', found: 'new: it is made at the first start' };
  const found = `version ${applied.length}; this build knows ${known.length}`;
  if (forbidding.length > 0) {
    const change = `It was migrated by a newer version, which says that this one must not run (${forbidding.join(', ')}): upgrade this one.`;
    return { what: 'schema', found, change };
  }
  const missing = missingOf(report);
  const isNewer = applied.some((name) => !known.includes(name));
  if (isNewer && missing.length === 0) return { what: 'schema', found: `${found}, and may run` };
  if (missing.length === 0) return { what: 'schema', found };
  return { what: 'schema', found, change: `Run "holdfast migrate": ${missing.join(', ')}` };
}

function clockFinding({ kind, clockAheadMs }: StoreReport): Finding {
  const by = Math.abs(clockAheadMs);
  const way = clockAheadMs > 0 ? 'ahead of' : 'behind';
  const found = by === 0 ? 'as the host’s' : `${by} ms ${way} the host’s`;
  if (by <= CLOCK_MS_MAX) return { what: 'clock of the store', found };
  const change =
    kind === 'sqlite'
      ? 'The host’s clock was ahead once, or was set back since. Store time stays ahead: sleeps until a time of day end early, and schedules fire at wrong times. Set the clock right (NTP), then run: holdfast doctor --set-clock-back'
      : 'Set both right (NTP). The store’s clock decides when sessions expire, the host’s when keys do.';
  return { what: 'clock of the store', found, change };
}
