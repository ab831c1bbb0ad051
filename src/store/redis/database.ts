// A thin layer over the client. It runs scripts by digest, and maps the client's errors to the
// three faults that a store may throw.

import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import type { RedisClient } from './connect.ts';
import { type FilledScript, fill, type Script } from './lua.ts';
import { factsOf, READ_SERVER, type ServerConfig, type ServerFacts } from './server-facts.ts';

export type Argument = string | number | Uint8Array;

interface DatabaseConfig {
  /** The prefix of all keys, including the braces. */
  readonly prefix: string;
  /** Lua for the server's time in whole milliseconds. Tests pass a clock that they can move. */
  readonly nowLua: string;
  /** Returns the reason why there is no connection, as far as the client knows. */
  readonly whyOffline: () => unknown;
}

const SETTINGS = ['appendfsync', 'no-appendfsync-on-rewrite', 'dir', 'port', 'unixsocket'] as const;

export class Database {
  readonly #client: RedisClient;
  /** The same client, with replies as bytes. */
  readonly #bytes: RedisClient;
  readonly #config: DatabaseConfig;
  readonly #scripts: Map<Script, FilledScript & { readonly keys: string[] }> = new Map();
  /** Called for every fence that this client learns. */
  onFence: (fence: number) => void = () => undefined;
  #seen = 0;

  constructor(client: RedisClient, config: DatabaseConfig) {
    this.#client = client;
    this.#bytes = client.withTypeMapping({ [BLOB_STRING]: Buffer }) as RedisClient;
    this.#config = config;
  }

  /** The highest fence that this client was granted, or found issued when it connected. */
  get seen(): number {
    return this.#seen;
  }

  noteFence(fence: number): void {
    this.#seen = Math.max(this.#seen, fence);
    this.onFence(this.#seen);
  }

  keyOf(name: string): string {
    return `${this.#config.prefix}:${name}`;
  }

  /**
   * Runs a script in one round trip, or in two if the server does not know it yet. Text arrives as
   * bytes.
   */
  async run<Reply>(script: Script, values: readonly Argument[]): Promise<Reply> {
    const { sha, text, keys } = this.#filled(script);
    const options = { keys, arguments: values.map(toArgument) };
    try {
      return (await this.#bytes.evalSha(sha, options)) as Reply;
    } catch (cause) {
      if (!messageOf(cause).startsWith('NOSCRIPT')) throw this.#toFault(cause);
    }
    try {
      return (await this.#bytes.eval(text, options)) as Reply;
    } catch (cause) {
      throw this.#toFault(cause);
    }
  }

  /** "The client is offline" does not name the cause, so use the connection's last error. */
  #toFault(cause: unknown): Fault {
    const why = OFFLINE.test(messageOf(cause)) ? this.#config.whyOffline() : undefined;
    return toFault(why ?? cause, why !== undefined);
  }

  async describeServer(): Promise<ServerFacts> {
    const info = await this.run<readonly Buffer[]>(READ_SERVER, []);
    return factsOf(info.join('\n'), await this.#readSettings());
  }

  /** A setting that the user may not read counts as unknown. */
  async #readSettings(): Promise<ServerConfig> {
    const pairs = await Promise.all(
      SETTINGS.map(async (name) => {
        const result = await this.#client.configGet(name).catch(() => ({}));
        return [name, (result as ServerConfig)[name]] as const;
      }),
    );
    return Object.fromEntries(pairs);
  }

  #filled(script: Script): FilledScript & { readonly keys: string[] } {
    let filled = this.#scripts.get(script);
    if (filled === undefined) {
      const keys = script.keys.map((name) => this.keyOf(name));
      filled = { ...fill(script, this.#config.nowLua), keys };
      this.#scripts.set(script, filled);
    }
    return filled;
  }
}

/** `RESP_TYPES.BLOB_STRING` of the client: the first byte of such a reply. */
const BLOB_STRING = 36;

function toArgument(value: Argument): string | Buffer {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** Returns the first word of a script's reply. */
export function kindOf(reply: readonly unknown[]): string {
  return String(reply[0]);
}

/** Encodes an optional argument. `given` decodes it in the script. */
export function optionalArgument(value: string | undefined): string {
  return value === undefined ? '' : `=${value}`;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/**
 * The server returns these before it runs the script, or at the script's first write. In both cases
 * nothing was written.
 */
const FOR_NOW =
  /(?:^|[ -])(LOADING|BUSY|OOM|READONLY|MASTERDOWN|NOREPLICAS|MISCONF|CLUSTERDOWN|TRYAGAIN|MOVED|ASK) /;

/** Waiting does not help: an operator must set a password or a right. */
const DENIED = /(?:^|[ -])(NOAUTH|WRONGPASS|NOPERM) /;

/** The client's error while it has no connection. */
const OFFLINE = /^The client is (closed|offline)/;

/** Error codes of Node for certificates that it does not trust. */
const CERTIFICATE = /CERT|^UNABLE_TO_|^SELF_SIGNED/;

/** The client's errors for commands that it never sent. */
const NEVER_SENT =
  /^(The client is (closed|offline)|The command was aborted|Connection timeout|The queue is full|All the root nodes are unavailable|connect |getaddrinfo )/;

/**
 * Maps a client error to a fault: done, not done, or unknown. Pass `unsent` if the command
 * certainly did not leave.
 */
export function toFault(cause: unknown, unsent = false): Fault {
  if (cause instanceof Fault) return cause;
  const what = messageOf(cause);
  if (DENIED.test(what)) {
    return new Fault(
      'store-rejected',
      `Redis denied access: ${what} Nothing was changed. Set the user and password in the URL, and the user's rights as the Redis guide lists them.`,
      { cause },
    );
  }
  if (CERTIFICATE.test(String((cause as { readonly code?: unknown } | undefined)?.code))) {
    return new StoreUnavailable(
      `Redis has a certificate that Node does not trust (${what}). Nothing was changed. Set NODE_EXTRA_CA_CERTS to the file of its authority, or pass a client with socket.ca.`,
      { cause },
    );
  }
  const code = FOR_NOW.exec(what)?.[1];
  if (code !== undefined) {
    return new StoreUnavailable(`Redis refused for now (${code}): ${what} Nothing was changed.`, {
      cause,
    });
  }
  if (/^[A-Z][A-Z0-9_]* /.test(what)) {
    return new Fault('store-rejected', `Redis rejected a script: ${what} Nothing was changed.`, {
      cause,
    });
  }
  const name = cause instanceof Error ? cause.constructor.name : '';
  if (unsent || NEVER_SENT.test(what) || name === 'TimeoutError') {
    return new StoreUnavailable(
      `Redis cannot be reached (${what}). Nothing was changed. Check the URL and the server.`,
      { cause },
    );
  }
  return new OutcomeUnknown(
    `The connection to Redis failed before a response (${what}). The change may or may not have been made.`,
    { cause },
  );
}
