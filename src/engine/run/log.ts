// Implements `ctx.log`, which sends each line to the observer and writes it into the execution's
// history, and `ctx.patched`, which is such a line for replays.

import { inspect } from 'node:util';
import type { CallKey, Payload } from '../../execution/names.ts';
import { reportClaim } from '../observer.ts';
import { isInside } from './call.ts';
import { ignored } from './guarded.ts';
import type { Entry } from './journal.ts';
import type { Run } from './run.ts';

/** Limit per claim, with the notice: a loop that logs must not fill the store. */
const LINES_MAX = 1_000;
const MESSAGE_MAX = 4_096;
const DATA_MAX = 8_192;
const LAST_LINE = `ctx.log has written ${LINES_MAX - 1} lines in this claim. Later lines go only to the observer.`;

export class Log {
  readonly #run: Run;
  #lines = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Skips lines that a replay repeats. */
  write(message: string, data: unknown): void {
    const run = this.#run;
    const inside = isInside(run);
    if (run.isReplaying || (!inside && run.ledger.hasLogged())) return;
    reportClaim(run, { kind: 'log', message, ...(data === undefined ? {} : { data }) });
    this.#lines += 1;
    if (this.#lines > LINES_MAX) return;
    const isLast = this.#lines === LINES_MAX;
    const log = isLast ? LAST_LINE : message.slice(0, MESSAGE_MAX).toWellFormed();
    const line = { log, ...(inside ? { inside } : {}) };
    const out = data === undefined || isLast ? undefined : encoded(run, data);
    if (out instanceof Promise) out.then((payload) => keep(run, line, payload), ignored);
    else keep(run, line, out);
  }
}

/**
 * True unless the execution went past this place before the code had this patch. The line
 * is durable before anything that the code records next.
 */
export function isPatched(run: Run, key: CallKey): boolean {
  const { ledger } = run;
  const patch = ledger.patchAt(key, run.settling.cursor);
  if (patch === 'now' && !run.isFrozen) {
    ledger.notePatch(key);
    // `inside`: other builds do not count it among the lines of the code.
    keep(run, { log: `${key} taken`, inside: true, patch: key }, undefined);
  }
  return patch !== 'before';
}

/** The journal writes the line with its next entry, because a line alone is no progress. */
function keep({ journal }: Run, line: object, out: Payload | undefined): void {
  const text = JSON.stringify(line);
  const body = out === undefined ? text : `${text.slice(0, -1)},"out":${out}}`;
  const entry: Entry = {
    event: { kind: 'progressed', body: body as Payload },
    isNote: true,
    stored: ignored,
  };
  journal.append(entry);
}

/** Accepts anything: data that is large or cannot be stored becomes text. */
function encoded(run: Run, data: unknown): Payload | Promise<Payload> {
  const { payloads } = run;
  const what = 'The data of ctx.log';
  const place = run.placeOf('log');
  try {
    if (JSON.stringify(data).length <= DATA_MAX) return payloads.encode(what, data, place);
  } catch {
    // The code below stores it as text.
  }
  return payloads.encode(what, textOf(data), place);
}

function textOf(data: unknown): string {
  try {
    return inspect(data, { depth: 4, breakLength: Number.POSITIVE_INFINITY })
      .slice(0, DATA_MAX)
      .toWellFormed();
  } catch {
    return '(a value that cannot be shown)';
  }
}
