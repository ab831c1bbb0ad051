// The options of a coordinator, from its configuration. Those of queues are made by `sqsOf`, with a client to close.

import { readFile } from 'node:fs/promises';
import type { Archive } from '../archive/port.ts';
import type { KeepMs } from '../features/retention/model.ts';
import type { Config } from '../server/config.ts';
import { linksOf, pushOf } from '../server/configured-carriers.ts';
import { isLoopback } from '../server/gate.ts';
import type { ServerOptions } from '../server/server-options.ts';
import { InvalidInput } from '../support/fault.ts';

export async function serverOptionsOf(config: Config): Promise<Omit<ServerOptions, 'store'>> {
  const { host, port, auth, limits, quotas, trustProxy, tends, publicMetrics } = config;
  const [tls, retention, push, links] = await Promise.all([
    tlsOf(config.tls),
    retentionOf(config),
    pushOf(config.push),
    linksOf(config.links),
  ]);
  return {
    ...{ host, port, auth, limits, quotas, trustProxy, tends, publicMetrics },
    admin: adminOf(config.admin),
    console: config.console === 'on',
    logRequests: config.log.requests,
    logIdle: config.log.idle,
    ...(config.grpc === 'off' ? {} : { grpc: listenerOf(config.grpc) }),
    ...(tls && { tls }),
    ...(retention && { retention }),
    ...(push && { push }),
    ...(links && { links }),
  };
}

async function tlsOf({
  keyFile,
  certFile,
  minVersion,
}: Config['tls']): Promise<ServerOptions['tls']> {
  if (keyFile === undefined && certFile === undefined) return undefined;
  if (keyFile === undefined || certFile === undefined) {
    throw new InvalidInput('TLS needs both tls.keyFile and tls.certFile; only one is there.');
  }
  const [key, cert] = await Promise.all([readFile(keyFile, 'utf8'), readFile(certFile, 'utf8')]);
  return { key, cert, ...(minVersion && { minVersion }) };
}

/** Where keys can be read on their way. Behind a proxy, which ends TLS, gRPC still comes to its own port. */
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
      'There is an archive, and retention.withoutArchive says that there is none. Leave one of them out.',
    );
  }
  if (archive === undefined && !withoutArchive) {
    if (Object.keys(keepMs).length === 0) return undefined;
    throw new InvalidInput(
      'retention says how long executions are kept, and not where they go before they are removed. Set archive.folder, or archive.url and archive.bucket; or retention.withoutArchive if they may be gone for good.',
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

/** The driver that is not asked for is not loaded. */
async function archiveOf(given: Config['archive']): Promise<Archive | undefined> {
  const { folder, url, bucket, accessKeyId, secretAccessKey, ...rest } = given;
  if (folder !== undefined && url !== undefined) {
    throw new InvalidInput('archive.folder and archive.url are two archives; set one of them.');
  }
  if (folder !== undefined) {
    const { openFolderArchive } = await import('../archive/folder.ts');
    return openFolderArchive({ folder });
  }
  if (url === undefined) return undefined;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new InvalidInput(
      'An archive at archive.url needs archive.bucket, archive.accessKeyId and archive.secretAccessKey too.',
    );
  }
  const { openS3Archive } = await import('../archive/s3.ts');
  return openS3Archive({ url, bucket, accessKeyId, secretAccessKey, ...rest });
}
