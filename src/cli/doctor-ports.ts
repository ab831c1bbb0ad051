// Whether a coordinator could listen where it is told to: the port is free, or one answers there already.

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../server/config.ts';
import { systemTimers } from '../support/timer.ts';
import type { Finding } from './finding.ts';

const ANSWER_MS = 2_000;

export async function portFindings(config: Config): Promise<readonly Finding[]> {
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

async function portFinding(what: string, place: Place): Promise<Finding> {
  const { host, port } = place;
  if (port === 0) return { what, found: 'any that is free' };
  const code = await listenFault(place);
  const where = `${host}:${port}`;
  if (code === undefined) return { what, found: `${where} is free` };
  if (code === 'EADDRINUSE') {
    if (await isCoordinator(place)) return { what, found: `${where}: a coordinator answers there` };
    const change = `Something else listens on ${where}. Stop it, or choose another with --port.`;
    return { what, found: `${where} is taken`, change };
  }
  const found = `${where} cannot be listened on (${code})`;
  return { what, found, change: WHY[code] ?? 'Choose another with --host and --port.' };
}

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'This user may not: choose a port above 1023 with --port.',
  EADDRNOTAVAIL: 'No interface of this machine has that address: choose another with --host.',
  ENOTFOUND: 'That name is not known here: choose an address of this machine with --host.',
};

/** Undefined when it can be listened on. */
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
