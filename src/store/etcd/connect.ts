// Creates a client from the options.

import type { ChannelCredentials } from '@grpc/grpc-js';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { rejectUnknownOptions, shown } from '../../support/options.ts';
import { loadPackage } from '../load-package.ts';
import { type Driver, EtcdClient } from './client.ts';
import { MEMBER_LIST, STATUS } from './messages.ts';
import type { EtcdStoreOptions } from './open.ts';

export async function connect(
  options: Pick<EtcdStoreOptions, 'endpoints' | 'tls'> & { readonly callTimeoutMs: number },
): Promise<EtcdClient> {
  const urls = endpointsOf(options);
  const driver = await loadPackage('etcd', '@grpc/grpc-js', () => import('@grpc/grpc-js'));
  return new EtcdClient(driver, {
    targets: options.endpoints.map(targetOf),
    credentials: credentialsFor(urls, options, driver),
    callTimeoutMs: options.callTimeoutMs,
  });
}

/**
 * Takes the port from the text, because a parsed URL does not distinguish its scheme's default port
 * from no port.
 */
function targetOf(endpoint: string): string {
  const port = /:(\d+)\/?$/.exec(endpoint)?.[1] ?? '2379';
  return `${new URL(endpoint).hostname}:${port}`;
}

function endpointsOf({ endpoints }: Pick<EtcdStoreOptions, 'endpoints'>): readonly URL[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new InvalidInput(
      `endpoints must be an array of URLs, such as ['http://10.0.0.1:2379']; got ${shown(endpoints)}.`,
    );
  }
  const urls = endpoints.map((endpoint: unknown) => {
    const url = typeof endpoint === 'string' && URL.canParse(endpoint) ? new URL(endpoint) : null;
    if (url !== null && /^https?:$/.test(url.protocol)) return url;
    throw new InvalidInput(
      `endpoints must be http:// or https:// URLs, such as http://10.0.0.1:2379; got ${shown(endpoint)}.`,
    );
  });
  if (urls.some(({ username, password }) => username !== '' || password !== '')) {
    throw new InvalidInput(
      'endpoints must not have a user or a password. Use a client certificate: tls: { ca, cert, key }.',
    );
  }
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1) {
    throw new InvalidInput('endpoints must be all http:// or all https://.');
  }
  return urls;
}

function credentialsFor(
  urls: readonly URL[],
  { tls }: Pick<EtcdStoreOptions, 'tls'>,
  driver: Driver,
): ChannelCredentials {
  if (tls !== undefined) rejectUnknownOptions('tls', tls, ['ca', 'cert', 'key']);
  const isPlain = urls[0]?.protocol === 'http:';
  if (isPlain && tls !== undefined) {
    throw new InvalidInput('tls needs https:// endpoints; these are http://.');
  }
  if (isPlain) return driver.credentials.createInsecure();
  const bytes = (pem: string | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem);
  return driver.credentials.createSsl(bytes(tls?.ca), bytes(tls?.key), bytes(tls?.cert));
}

/** Reports durability: an acknowledged write is on the disks of more than half of the members. */
export async function describeDurability(client: EtcdClient): Promise<string> {
  const { version } = await client.read(STATUS, {});
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 4)) {
    throw new Fault(
      'server-too-old',
      `Holdfast needs etcd 3.4 or newer; this is ${version}. Nothing was opened. Upgrade the server.`,
    );
  }
  const { members } = await client.read(MEMBER_LIST, {});
  const spare = Math.ceil(members.length / 2) - 1;
  return spare === 0
    ? `the end of every process, not the loss of a machine (etcd ${version}, ${members.length} members)`
    : `the loss of any ${spare} of ${members.length} machines (etcd ${version})`;
}
