// Connections to PostgreSQL that outlive their pool. A new connection costs the server tens of
// milliseconds of CPU, mostly for plans that the next case needs again; a kept one has them.

import pg, { type ClientConfig } from 'pg';

/** State that a connection may carry from one user to the next, and must not. */
const RESET = 'rollback; unlisten *; select pg_advisory_unlock_all(); reset all';

const kept = new Map<string, KeptClient[]>();
const NewPool = pg.Pool;

/** The parts of a client that its own pool reads too. */
interface Inside {
  readonly _queryable: boolean;
  readonly _ending: boolean;
  readonly _activeQuery?: unknown;
  readonly connection: { readonly stream: { ref(): void; unref(): void; destroy(): void } };
}

class KeptClient extends pg.Client {
  readonly #key: string = '';
  #isOpen = false;

  constructor(config: ClientConfig) {
    const key = keyOf(config);
    const earlier = kept.get(key)?.pop();
    super(config);
    // biome-ignore lint/correctness/noConstructorReturn: the pool asks for a new client and gets a kept one
    if (earlier !== undefined) return earlier;
    this.#key = key;
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const opening = this.#isOpen ? this.#takeUp() : super.connect();
    this.#isOpen = true;
    if (callback === undefined) return opening;
    opening.then(() => (callback as () => void)(), callback);
    return undefined;
  }

  async #takeUp(): Promise<pg.Client> {
    inside(this).connection.stream.ref();
    return this;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const ended = this.#giveBack();
    if (callback === undefined) return ended;
    ended.then(() => (callback as () => void)(), callback);
    return undefined;
  }

  async #giveBack(): Promise<void> {
    const { _queryable: isQueryable, _ending: isEnding, _activeQuery: active } = inside(this);
    if (!isQueryable || isEnding || (active !== undefined && active !== null)) return super.end();
    try {
      await this.query(RESET);
    } catch {
      return super.end();
    }
    this.removeAllListeners();
    this.on('error', () => {
      const left = kept.get(this.#key) ?? [];
      kept.set(
        this.#key,
        left.filter((client) => client !== this),
      );
    });
    inside(this).connection.stream.unref();
    kept.set(this.#key, [...(kept.get(this.#key) ?? []), this]);
  }

  /** Closes without a goodbye, which a server that is gone would not answer. */
  endForGood(): void {
    inside(this).connection.stream.destroy();
  }
}

function inside(client: pg.Client): Inside {
  return client as unknown as Inside;
}

/** Connections with equal options are interchangeable, however many a pool may have. */
function keyOf(config: ClientConfig): string {
  return JSON.stringify({ ...config, types: undefined, max: undefined });
}

/** From here on every pool of this process keeps its connections for the next one. */
export function keepConnections(): void {
  pg.Pool = class extends NewPool {
    constructor(config: pg.PoolConfig = {}) {
      super({ ...config, Client: KeptClient as unknown as new () => pg.ClientBase });
    }
  };
}

/** Ends the connections that no pool has. */
export function endKeptConnections(): void {
  const all = [...kept.values()].flat();
  kept.clear();
  for (const client of all) client.endForGood();
}
