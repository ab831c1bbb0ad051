// The log of a coordinator on stdout: JSON lines for programs, text for people. It never contains a
// secret.

import type { Config } from '../server/config.ts';
import type { ServerLog } from '../server/server-options.ts';
import { formatInstant, systemClock, toInstant } from '../support/clock.ts';
import { withoutSecrets } from '../support/hidden-options.ts';
import { plain, print, table } from './screen.ts';

const ABOUT_LEVEL: Readonly<Record<Config['log']['level'], number>> = {
  ...{ info: 0, warn: 1, error: 2, off: 3 },
};

/** The log of a coordinator that runs pipelines beside it, as `holdfast dev` does. */
export interface CliLog extends ServerLog {
  /** Called for a problem of an execution, such as a failed attempt. */
  warn(message: string, about?: object): void;
}

export function logOf({ level, format }: Config['log']): CliLog {
  const isText = format === 'text' || (format === 'auto' && process.stdout.isTTY === true);
  const write = (at: 'info' | 'warn' | 'error', message: string, about: object): void => {
    if (ABOUT_LEVEL[at] < ABOUT_LEVEL[level]) return;
    const time = formatInstant(toInstant(systemClock.wallMs()));
    const entry = { time, level: at, message, ...about };
    print(withoutSecrets(isText ? textOf(entry) : JSON.stringify(entry)));
  };
  return {
    info: (message, about = {}) => write('info', message, about),
    warn: (message, about = {}) => write('warn', message, about),
    fault: (message, error, about = {}) =>
      write('error', message, { ...about, error: described(error) }),
  };
}

function textOf(entry: Record<string, unknown>): string {
  return entry['message'] === 'request' ? requestText(entry) : asText(entry);
}

/** One line each, because requests are many and alike. */
function requestText({
  time,
  method,
  route,
  status,
  ms,
  actor,
  id,
}: Record<string, unknown>): string {
  const parts = [time, method, route, id, status, `${ms} ms`, actor];
  return plain(parts.filter((part) => part !== undefined).join(' '));
}

function asText({ time, level, message, ...about }: Record<string, unknown>): string {
  const rows = Object.entries(about).map(([name, value]) => [
    `  ${name}`,
    typeof value === 'string' ? plain(value) : JSON.stringify(value),
  ]);
  const head = `${time}${level === 'info' ? '' : ` ${String(level).toUpperCase()}`} ${message}`;
  return rows.length === 0 ? head : `${head}\n${table(rows)}`;
}

/** Bounded, because messages of workers and drivers may have any length. */
const READ_CHARS_MAX = 65_536;
const DESCRIBED_CHARS_MAX = 8_192;

/** Removes secrets before cutting, so that a cut secret does not stay in the text. */
export function described(error: unknown): string {
  const text = withoutSecrets(fullText(error).slice(0, READ_CHARS_MAX));
  return text.length > DESCRIBED_CHARS_MAX ? `${text.slice(0, DESCRIBED_CHARS_MAX)}…` : text;
}

function fullText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `; cause: ${fullText(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
