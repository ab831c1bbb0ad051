// Checks what a coordinator needs besides its store. `serve` refuses to start if a check fails;
// `doctor` reports it.

import { access, constants, readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Config, hidden } from '../server/config.ts';
import {
  channelOptionsOf,
  type LoadSdk,
  linksOf,
  pushOf,
  pushWarning,
  sqsOf,
} from '../server/configured-transports.ts';
import { Fault } from '../support/fault.ts';
import { shownUrl } from '../support/hidden-options.ts';
import type { StoreFinding } from './doctor-store.ts';

export interface Packages {
  readonly grpc?: () => Promise<unknown>;
  readonly sqs?: LoadSdk;
}

export async function startFindings(
  config: Config,
  load: Packages = {},
): Promise<readonly StoreFinding[]> {
  const { tls, trustProxy, grpc, archive } = config;
  const { grpc: loadGrpc = () => import('@grpc/grpc-js') } = load;
  const found = [
    await pairFinding(tls),
    typeof trustProxy === 'string' ? proxyFinding(trustProxy) : undefined,
    grpc === 'off' ? undefined : await grpcFinding(grpc, loadGrpc),
    await queuesFinding(config.sqs, load.sqs),
    await endpointsFinding(config.push),
    await linksFinding(config.links),
    await channelsFinding(config, load.sqs),
    archive.folder === undefined ? undefined : await folderFinding(archive.folder),
  ];
  return found.filter((finding) => finding !== undefined);
}

/** Another check reports unreadable files. */
async function pairFinding({
  keyFile,
  certFile,
}: Config['tls']): Promise<StoreFinding | undefined> {
  if (keyFile === undefined || certFile === undefined) return undefined;
  const files = Promise.all([readFile(keyFile), readFile(certFile)]);
  const [key, cert] = await files.catch(() => []);
  if (key === undefined || cert === undefined) return undefined;
  const what = 'tls';
  try {
    createSecureContext({ key, cert });
    return { what, found: 'the key matches the certificate' };
  } catch (fault) {
    const why = (fault as Error).message;
    return {
      ...{ what, found: `${keyFile} and ${certFile} do not match (${why})` },
      change: 'Pass a key in PEM and its certificate.',
    };
  }
}

const RANGES: readonly string[] = ['loopback', 'linklocal', 'uniquelocal'];

function proxyFinding(text: string): StoreFinding {
  const wrong = text
    .split(',')
    .map((each) => each.trim())
    .find((each) => !isAddresses(each));
  if (wrong === undefined) return { what: 'trustProxy', found: text };
  return {
    ...{ what: 'trustProxy', found: `"${wrong}" is not an address` },
    change: `Set true, false, or the addresses of your proxies, such as 10.0.0.7, 10.0.0.0/8 or ${RANGES.join(', ')}.`,
  };
}

function isAddresses(text: string): boolean {
  if (RANGES.includes(text)) return true;
  const [address = '', size, more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more !== undefined) return false;
  if (size === undefined || (version === 4 && isIP(size) === 4)) return true;
  return /^\d{1,3}$/.test(size) && Number(size) >= 1 && Number(size) <= (version === 4 ? 32 : 128);
}

async function grpcFinding(where: string, load: () => Promise<unknown>): Promise<StoreFinding> {
  try {
    await load();
    return { what: 'grpc', found: where };
  } catch {
    const change = 'Install it beside holdfast: npm install @grpc/grpc-js';
    return { what: 'grpc', found: 'the package @grpc/grpc-js is not installed', change };
  }
}

async function queuesFinding(
  given: Config['sqs'],
  load?: LoadSdk,
): Promise<StoreFinding | undefined> {
  try {
    const opened = await sqsOf(given, load);
    opened?.client.destroy();
    const name = 'sqs.requestQueueUrl';
    return opened && { what: 'sqs', found: String(hidden(name, opened.sqs.requestQueueUrl)) };
  } catch (fault) {
    return { what: 'sqs', found: 'cannot be used', change: changeOf(fault) };
  }
}

async function endpointsFinding(given: Config['push']): Promise<StoreFinding | undefined> {
  try {
    const options = await pushOf(given);
    const urls = options?.endpoints.map(({ url }) => shownUrl(new URL(url))).join(' ');
    return urls === undefined ? undefined : { what: 'push', found: urls };
  } catch (fault) {
    return { what: 'push', found: 'cannot be used', change: changeOf(fault) };
  }
}

async function linksFinding(given: Config['links']): Promise<StoreFinding | undefined> {
  try {
    const links = await linksOf(given);
    return links && { what: 'links', found: `signed with key ${links.current}` };
  } catch (fault) {
    return { what: 'links', found: 'cannot be used', change: changeOf(fault) };
  }
}

async function channelsFinding(
  given: Pick<Config, 'channels' | 'sqs'>,
  load?: LoadSdk,
): Promise<StoreFinding | undefined> {
  const what = 'channels';
  try {
    const channels = await channelOptionsOf(given, load);
    channels?.sqs?.client.destroy();
    return channels && { what, found: `signed with key ${channels.signing.current}` };
  } catch (fault) {
    return { what, found: 'cannot be used', change: changeOf(fault) };
  }
}

/** Reports shared keys. A coordinator starts with them all the same. */
export async function sharedKeysFindings(given: Config['push']): Promise<readonly StoreFinding[]> {
  const change = await pushWarning(given).catch(() => undefined);
  if (change === undefined) return [];
  return [{ what: 'push keys', found: 'are shared by several projects', change }];
}

/** Rethrows a bug; only faults describe a problem of the configuration. */
function changeOf(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  return fault.message
    .replace(/^openServer: /, '')
    .replaceAll(/ \(in code: [^)]+\)/g, '')
    .replaceAll(/(push|channels)\.allow\.http/g, '$1.allowHttp')
    .replaceAll(/(push|channels)\.allow\./g, '$1.');
}

/** Creates nothing. A missing folder needs a writable folder above it. */
async function folderFinding(folder: string): Promise<StoreFinding> {
  const what = 'archive.folder';
  try {
    await requireWritable(resolve(folder));
    return { what, found: folder };
  } catch (fault) {
    return {
      ...{ what, found: `${folder} cannot be written (${(fault as NodeJS.ErrnoException).code})` },
      change:
        'Pass a folder that this user can write to. Until then, no execution is removed from the store.',
    };
  }
}

async function requireWritable(folder: string): Promise<void> {
  const found = await stat(folder).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOENT' && dirname(folder) !== folder) return undefined;
    throw fault;
  });
  if (found === undefined) return requireWritable(dirname(folder));
  if (!found.isDirectory()) throw Object.assign(new Error('no folder'), { code: 'ENOTDIR' });
  await access(folder, constants.W_OK | constants.X_OK);
}
