import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { inspectStore, storePlace } from '../embedded/open-store.ts';
import { type Config, hidden } from '../server/config.ts';
import type { StoreReport } from '../store/contract/store-report.ts';
import { Fault } from '../support/fault.ts';
import { shownPath, withoutSecrets } from '../support/hidden-options.ts';
import { systemTimers } from '../support/timer.ts';
import { missingOf } from './migrate.ts';

/** One result of a check. */
export interface StoreFinding {
  readonly what: string;
  readonly found: string;
  /** Present only if something is wrong. */
  readonly change?: string;
}

// Checks the store that a coordinator would use here: access, schema and clock.

/** Above this difference, live sessions may look dead, and dead ones alive. */
const CLOCK_MS_MAX = 1_000;

export function faultText(fault: unknown): string {
  if (fault instanceof Fault) return fault.message;
  if (fault instanceof Error) return fault.message;
  return String(fault);
}

export async function storeFindings(config: Config): Promise<readonly StoreFinding[]> {
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

/** A missing driver already names its fix. */
function unread(fault: unknown): { readonly why: string } {
  const why = withoutSecrets(faultText(fault)).replace(/\.?$/, '.');
  if (fault instanceof Fault && fault.code === 'driver-missing') return { why };
  return {
    why: `${why} Check that it runs, that --store (HOLDFAST_STORE) is right, and that this user can read it.`,
  };
}

function schemaFinding(report: StoreReport): StoreFinding {
  const { exists, applied, known, forbidding } = report;
  if (!exists) return { what: 'schema', found: 'new: the first start creates it' };
  const found = `version ${applied.length}; this version of Holdfast knows ${known.length}`;
  if (forbidding.length > 0) {
    const change = `A newer version migrated it, and this version must not run on it (${forbidding.join(', ')}). Upgrade this one.`;
    return { what: 'schema', found, change };
  }
  const missing = missingOf(report);
  const isNewer = applied.some((name) => !known.includes(name));
  if (isNewer && missing.length === 0)
    return { what: 'schema', found: `${found} and can run on it` };
  if (missing.length === 0) return { what: 'schema', found };
  return { what: 'schema', found, change: `Run "holdfast migrate": ${missing.join(', ')}` };
}

function clockFinding({ kind, clockAheadMs }: StoreReport): StoreFinding {
  const by = Math.abs(clockAheadMs);
  const way = clockAheadMs > 0 ? 'ahead of' : 'behind';
  const found = by === 0 ? 'equal to the host' : `${by} ms ${way} the host`;
  if (by <= CLOCK_MS_MAX) return { what: 'clock of the store', found };
  const change =
    kind === 'sqlite'
      ? 'The clock of the host was ahead once, or was set back, and store time stays ahead. Sleeps until a time of day end early, and schedules fire at wrong times. Correct the clock (NTP), then run: holdfast doctor --set-clock-back'
      : 'Correct both clocks (NTP). The clock of the store decides when sessions expire, that of the host when keys do.';
  return { what: 'clock of the store', found, change };
}

// Files with secrets or values that other users of the machine can read.

const OTHERS = 0o077;

export async function fileFindings(config: Config): Promise<readonly StoreFinding[]> {
  const { archive, channels, links, push, sqs, tls } = config;
  const files: readonly (readonly [name: string, path: string | undefined])[] = [
    ['store', fileOf(config.store)],
    ['tls.keyFile', tls.keyFile],
    ['links.signingFile', links.signingFile],
    ['channels.signingFile', channels.signingFile],
    ['sqs.keysFile', sqs.keysFile],
    ['push.signingFile', push.signingFile],
    ...(push.endpoints ?? []).map(({ signingFile }) => ['push.endpoints', signingFile] as const),
    ['archive.folder', archive.folder],
  ];
  const found = await Promise.all(files.map(([name, path]) => modeFinding(name, path)));
  return found.filter((finding) => finding !== undefined);
}

/** Undefined if the text names no SQLite file; another check reports bad text. */
function fileOf(store: string): string | undefined {
  try {
    const place = storePlace(store);
    return place.kind === 'sqlite' ? place.file : undefined;
  } catch {
    return undefined;
  }
}

/** Another check reports a file that is missing or unreadable. */
async function modeFinding(
  what: string,
  path: string | undefined,
): Promise<StoreFinding | undefined> {
  // Windows has no such modes.
  if (path === undefined || process.platform === 'win32') return undefined;
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || (stats.mode & OTHERS) === 0) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  const wanted = stats.isDirectory() ? '700' : '600';
  return {
    what,
    found: `${shownPath(path)} can be read by other users of this machine (${mode})`,
    change: `Restrict it to the user that runs Holdfast: chmod ${wanted} ${shownPath(path)}`,
  };
}

// Checks that a coordinator could listen on its ports: each is free, or a coordinator already
// responds there.

const ANSWER_MS = 2_000;

export async function portFindings(config: Config): Promise<readonly StoreFinding[]> {
  const { host, port, admin, tls } = config;
  const scheme = tls.keyFile === undefined ? 'http' : 'https';
  const main = await portFinding('port', { host, port, scheme });
  const at = admin.lastIndexOf(':');
  if (at < 0) return [main];
  const other = {
    host: admin.slice(0, at).replace(/^\[|\]$/g, ''),
    port: Number(admin.slice(at + 1)),
  };
  return [main, await portFinding('admin port', { ...other, scheme })];
}

interface Place {
  readonly host: string;
  readonly port: number;
  readonly scheme: string;
}

async function portFinding(what: string, place: Place): Promise<StoreFinding> {
  const { host, port } = place;
  if (port === 0) return { what, found: 'any free one' };
  const code = await listenFault(place);
  const where = `${host}:${port}`;
  if (code === undefined) return { what, found: `${where} is free` };
  if (code === 'EADDRINUSE') {
    if (await isCoordinator(place))
      return { what, found: `${where}: a coordinator responds there` };
    const change = `Another program listens on ${where}. Stop it, or choose another port with --port.`;
    return { what, found: `${where} is taken`, change };
  }
  const found = `${where} cannot be listened on (${code})`;
  return { what, found, change: WHY[code] ?? 'Choose another address with --host and --port.' };
}

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'This user may not listen on it. Choose a port above 1023 with --port.',
  EADDRNOTAVAIL: 'No interface of this machine has that address. Choose another with --host.',
  ENOTFOUND: 'That name cannot be resolved. Choose an address of this machine with --host.',
};

/** Undefined if the port is free. */
async function listenFault({ host, port }: Place): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    return undefined;
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code ?? 'unknown';
  }
}

async function isCoordinator({ host, port, scheme }: Place): Promise<boolean> {
  const at = host.includes(':') ? `[${host}]` : host;
  const over = new AbortController();
  const cancel = systemTimers.after(ANSWER_MS, () => over.abort());
  try {
    const response = await fetch(`${scheme}://${at}:${port}/healthz`, { signal: over.signal });
    const { status } = (await response.json()) as { readonly status?: unknown };
    return response.ok && status === 'ok';
  } catch {
    return false;
  } finally {
    cancel();
  }
}
