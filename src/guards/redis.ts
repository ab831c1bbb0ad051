// The fence in Redis. One script compares, raises and writes, and Redis runs one script at a time.
//
// Lua numbers are doubles, and every fence is below 2^53, so they compare exactly. The guard stores
// the digits that it received, because Lua prints numbers rounded to 14 digits.

import { InvalidInput, StoreCorrupt } from '../support/fault.ts';
import { rejectUnknownOptions, shown } from '../support/options.ts';
import {
  CURRENT,
  type Fenced,
  type GuardResult,
  needFunction,
  needMethod,
  parseFenced,
  refuse,
  type Stale,
  staleAt,
} from './mark.ts';

export { type Fenced, type GuardResult, type Stale, StaleFence } from './mark.ts';

/**
 * Runs a Lua script and returns the reply of EVAL. `nodeRedis` and `ioredis` make one from a
 * client.
 */
export type RedisEval = (
  script: string,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/**
 * A Redis command: name, key and arguments, all strings, such as `['set', 'invoice/7', 'paid']`.
 */
export type RedisCommand = readonly [name: string, key: string, ...args: string[]];

/** The result of `write`: `written` with the `replies` of the commands in order, or a refusal. */
export type RedisWritten =
  /** The reply of Redis to each command, in order. */
  { readonly kind: 'written'; readonly replies: readonly unknown[] } | Stale;

/** Options of `RedisGuard`. */
export interface RedisGuardOptions {
  /**
   * Returns the key of a resource's mark. Default `holdfast:fence:<resource>`. In a cluster it must
   * be in the same slot as the keys that you write: put the same `{tag}` into both.
   */
  readonly markKey?: (resource: string) => string;
}

/**
 * KEYS: the mark, then the written keys. ARGV: the fence, then each command as its length and its
 * words. The script restores the mark at its end, in case a command changed it or failed.
 */
const SCRIPT = `
local mark = redis.call('get', KEYS[1])
if mark and not string.match(mark, '^%d+$') then return { 'corrupt', mark } end
local newest = mark and tonumber(mark)
local fence = tonumber(ARGV[1])
if newest and newest > fence then return { 'stale', mark } end
if not newest or newest < fence then redis.call('set', KEYS[1], ARGV[1]) end
local answer = { 'written' }
local at = 2
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  local reply = redis.pcall(unpack(ARGV, at + 1, last))
  if type(reply) == 'table' and reply.err then
    answer = reply
    break
  end
  answer[#answer + 1] = reply == nil and false or reply
  at = last + 1
end
if redis.pcall('get', KEYS[1]) ~= ARGV[1] or redis.call('pttl', KEYS[1]) ~= -1 then
  redis.call('set', KEYS[1], ARGV[1])
end
return answer
`;

const MARK_PREFIX = 'holdfast:fence:';
/** Lua's stack for the words of a command has 8,000 entries. */
const WORDS_MAX = 7_000;

/**
 * Checks fences in Redis: one script compares the fence and runs your commands.
 *
 * Methods throw `InvalidInput` if a command or the fence is invalid, and the client's error if
 * Redis cannot be reached.
 *
 * @example
 * import { createClient } from 'redis';
 *
 * const client = createClient();
 * await client.connect();
 * const guard = new RedisGuard(nodeRedis(client));
 * await guard.admit(lease);
 * const outcome = await guard.write(lease, [['set', 'invoice/7', 'paid']]);
 */
export class RedisGuard {
  readonly #evaluate: RedisEval;
  readonly #markKey: (resource: string) => string;
  /** The common prefix of all marks, if it is known. */
  readonly #markPrefix: string | undefined;

  constructor(evaluate: RedisEval, options: RedisGuardOptions = {}) {
    needFunction(evaluate, {
      what: 'RedisGuard needs a function that runs a script',
      pass: 'new RedisGuard(nodeRedis(client)), or ioredis(client) for a client of ioredis',
    });
    rejectUnknownOptions('RedisGuard', options, ['markKey']);
    if (options.markKey !== undefined) {
      const what = 'RedisGuard: `markKey` makes a key of a resource';
      needFunction(options.markKey, {
        what,
        pass: "markKey: (resource) => '{tag}:fence:' + resource",
      });
    }
    this.#evaluate = evaluate;
    this.#markKey = options.markKey ?? ((resource) => `${MARK_PREFIX}${resource}`);
    this.#markPrefix = options.markKey === undefined ? MARK_PREFIX : undefined;
  }

  /**
   * Shuts out every earlier holder. Call it right after the grant, before the first read or write.
   */
  async admit(fenced: Fenced): Promise<GuardResult> {
    const result = await this.write(fenced, []);
    return result.kind === 'stale' ? result : CURRENT;
  }

  /**
   * Runs the commands in order, with nothing between them, unless the fence is stale.
   *
   * If a command fails, the commands before it stay done.
   */
  async write(fenced: Fenced, commands: readonly RedisCommand[]): Promise<RedisWritten> {
    const { key, fence } = parseFenced(fenced);
    if (!Array.isArray(commands)) {
      const what = 'The second argument is a list of commands';
      refuse(commands, { what, pass: "guard.write(lease, [['set', 'invoice/7', 'paid']])" });
    }
    const mark = this.#markKey(key);
    for (const command of commands) {
      assertCommand(command);
      this.#assertNoMark(command[1], mark);
    }
    const keys = [mark, ...new Set(commands.map(([, written]) => written))];
    const words = commands.flatMap((command) => [String(command.length), ...command]);
    const reply = await this.#evaluate(SCRIPT, keys, [String(fence), ...words]);
    const [kind, ...rest] = Array.isArray(reply) ? reply : [];
    if (text(kind) === 'written') return { kind: 'written', replies: rest };
    if (text(kind) === 'stale' || text(kind) === 'corrupt') {
      return staleAt({ key, fence }, text(rest[0]));
    }
    throw new StoreCorrupt(
      `The guard's script for "${key}" returned ${shown(reply)}. ` +
        'Check that the function given to RedisGuard returns what EVAL returns.',
    );
  }

  #assertNoMark(written: string, mark: string): void {
    const isOther = this.#markPrefix !== undefined && written.startsWith(this.#markPrefix);
    if (written !== mark && !isOther) return;
    throw new InvalidInput(
      `"${written}" holds a mark, and only guards write marks. Nothing was sent. ` +
        'Use another key, or set `markKey` to keep marks elsewhere.',
    );
  }
}

function assertCommand(command: RedisCommand): void {
  const isCommand = Array.isArray(command) && command.length >= 2;
  if (!isCommand || !command.every((word) => typeof word === 'string')) {
    throw new InvalidInput(
      `A command must be its name, its key and its arguments, all strings; got ${shown(command)}.`,
    );
  }
  if (command.length > WORDS_MAX) {
    throw new InvalidInput(
      `A command must have at most ${WORDS_MAX} words; "${command[0]}" on "${command[1]}" has ` +
        `${command.length}. Nothing was sent. Split it into several commands.`,
    );
  }
}

/** Some clients return buffers. */
function text(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : value;
}

/**
 * Makes a `RedisEval` from a client of the package `redis`, of which it calls `eval` with `keys`
 * and `arguments`. Throws `InvalidInput` if it is not one.
 *
 * @example
 * import { createClient } from 'redis';
 *
 * const guard = new RedisGuard(nodeRedis(await createClient().connect()));
 */
export function nodeRedis(client: {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}): RedisEval {
  const what = 'nodeRedis makes a client of `redis` fit for a guard';
  needMethod(client, 'eval', {
    what,
    pass: 'nodeRedis(client), with a client from createClient()',
  });
  return (script, keys, args) => client.eval(script, { keys: [...keys], arguments: [...args] });
}

/**
 * Makes a `RedisEval` from a client of the package `ioredis`, of which it calls `eval`. Throws
 * `InvalidInput` if it is not one.
 *
 * @example
 * declare const client: { eval(script: string, keyCount: number, ...words: string[]): Promise<unknown> };
 *
 * const guard = new RedisGuard(ioredis(client));
 */
export function ioredis(client: {
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}): RedisEval {
  const what = 'ioredis makes a client of `ioredis` fit for a guard';
  needMethod(client, 'eval', { what, pass: 'ioredis(client), with a client from new Redis()' });
  return (script, keys, args) => client.eval(script, keys.length, ...keys, ...args);
}
