// A verb is one Lua script: Redis runs nothing beside it, so what it looks at is what it acts on, and
// the snapshot that a refusal is explained from is the one that refused.
//
// A script names keys of the store in capitals, and is told exactly those that it names. All of them
// are in one hash slot. It does not undo itself when it fails: every script looks first and writes
// last, with nothing in between that can fail.

import { createHash } from 'node:crypto';

/** What is kept where. README.md says what is in each. */
const KEY_NAMES: readonly string[] = [
  ...['META', 'SESSIONS', 'LEASES', 'BYTES', 'LISTED', 'KNOWN', 'OPEN', 'LIVING', 'EXTENDED'],
  ...['ENDED', 'EXPIRED', 'SETTLING', 'CARRIED', 'FAMILIES', 'DEADLINES', 'RETIRED'],
  ...['LINE', 'TICKETS', 'FLAPS', 'EVENTS'],
];

/** Lua, written with `hf_wall()` for the server's time in whole milliseconds. */
export interface Script {
  readonly text: string;
  /** The last parts of the keys' names, in the order of KEYS. */
  readonly keys: readonly string[];
}

/** A script with its clock filled in, as a server knows it. */
export interface FilledScript {
  readonly text: string;
  readonly sha: string;
}

export function script(body: string): Script {
  const used = KEY_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  const names = `local ${used.join(', ')} = unpack(KEYS)\n`;
  return {
    text: `${used.length > 0 ? names : ''}local NUL = string.char(0)\n${body}`,
    keys: used.map((name) => name.toLowerCase()),
  };
}

/** The body of the function that reads the server's clock, unless a test brings its own (C-1). */
export const SERVER_TIME_LUA = `
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)`;

export function fill({ text }: Script, nowLua: string): FilledScript {
  const filled = `local function hf_wall()${nowLua}\nend\n${text}`;
  return { text: filled, sha: createHash('sha1').update(filled).digest('hex') };
}
