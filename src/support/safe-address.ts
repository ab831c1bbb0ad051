// The addresses that a coordinator may call. A host is allowed by name. The coordinator resolves
// the name once, checks the address, and connects to exactly that address. So a name that changes a
// moment later reaches nothing.

import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { InvalidInput } from './fault.ts';
import { shown } from './options.ts';

export interface Allowed {
  /** Host names, exact, or all below one if it begins with `*.`. `*` is all hosts. */
  readonly hosts: readonly string[];
  /** Also loopback, private and link-local addresses. */
  readonly privateAddresses: boolean;
  /** Also http. */
  readonly http: boolean;
  /** The options that allow more, for messages: `push.allow`. */
  readonly setting: string;
}

const PRIVATE = new BlockList();
for (const [address, bits] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    // The agent of a virtual machine at Azure.
    ['168.63.129.16', 32],
  ] as const),
  ...([
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.168.0.0', 16],
  ] as const),
  ...([
    ['198.18.0.0', 15],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const),
] as const) {
  PRIVATE.addSubnet(address, bits, 'ipv4');
}
for (const [address, bits] of [
  ...([
    ['fc00::', 7],
    ['fe80::', 10],
    ['fec0::', 10],
    ['ff00::', 8],
  ] as const),
  // IPv6 ranges that embed an IPv4 address.
  ...([
    ['::', 96],
    ['::ffff:0:0:0', 96],
    ['64:ff9b::', 96],
    ['64:ff9b:1::', 48],
    ['2001::', 32],
    ['2002::', 16],
  ] as const),
] as const) {
  PRIVATE.addSubnet(address, bits, 'ipv6');
}

export function isPrivate(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return isPrivate(mapped);
  // Refuse every other spelling of an IPv4 address as IPv6, because only attackers use them.
  if (/^::ffff:/i.test(address)) return true;
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Throws if the text of the URL is not allowed. */
export function requireAllowed(what: string, text: unknown, allowed: Allowed): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  // Do not show the value, because it may contain a key.
  if (url === undefined) {
    const kind = typeof text === 'string' ? 'other text' : `a ${typeof text}`;
    throw new InvalidInput(`${what} must be a URL; got ${kind}.`);
  }
  const isScheme = url.protocol === 'https:' || (allowed.http && url.protocol === 'http:');
  if (!isScheme) {
    throw new InvalidInput(
      `${what} must be https; got ${url.protocol} To allow http, set ${settingIn(allowed, 'allowHttp', 'http')}.`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidInput(
      `${what} must not have a user or a password: requests are signed instead.`,
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const isNamed = allowed.hosts.some((each) =>
    each.startsWith('*.') ? host.endsWith(each.slice(1)) : ['*', host].includes(each.toLowerCase()),
  );
  if (!isNamed)
    throw new InvalidInput(
      `${what}: ${shown(host)} is not an allowed host. Add it to ${settingIn(allowed, 'hosts')}.`,
    );
  if (isIP(host) !== 0 && !allowed.privateAddresses && isPrivate(host)) {
    throw new InvalidInput(
      `${what}: ${host} is a private address. To allow it, set ${settingIn(allowed, 'privateAddresses')}.`,
    );
  }
  return url;
}

/** Its name in the configuration of a coordinator, and in the options of `openServer`. */
function settingIn({ setting }: Allowed, name: string, option = name): string {
  return `${setting.replace(/\.allow$/, '')}.${name} (in code: ${setting}.${option})`;
}

/** Does the work, now or when its turn comes. */
export type InTurn = (work: () => Promise<void>) => Promise<void>;

/** Returns an address only if every address of the name is allowed. */
export function checkedLookup(
  { privateAddresses }: Allowed,
  inTurn: InTurn = (work) => work(),
): LookupFunction {
  return (hostname, options, callback) => {
    const look = (done: () => void): void =>
      resolve(hostname, { ...options, all: true }, (error, found) => {
        done();
        if (error !== null) return callback(error, '', 0);
        const wrong = privateAddresses
          ? undefined
          : found.find(({ address }) => isPrivate(address));
        const [first] = found;
        if (wrong !== undefined || first === undefined) {
          const message = `${hostname} resolves to ${wrong?.address ?? 'nothing'}, a private address, which must not be called.`;
          return callback(Object.assign(new Error(message), { code: 'EADDRDENIED' }), '', 0);
        }
        if (options.all === true) return callback(null, found);
        return callback(null, first.address, first.family);
      });
    void inTurn(() => new Promise(look));
  };
}
