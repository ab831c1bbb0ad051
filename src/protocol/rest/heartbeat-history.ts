// How the heartbeats of sessions did over time, as this coordinator observed them (ADR 0058). It reads
// the live sessions every few seconds, so heartbeats themselves cost nothing more. Memory is bounded:
// a byte for each cell, a fixed number of cells and sessions.

import type { SessionId } from '../../lease/names.ts';
import type { SessionInspection, SessionStore } from '../../lease/port.ts';
import { PROJECT_METADATA, type SessionEnd } from '../../lease/session.ts';
import type { Clock } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import type { Timers } from '../../support/timer.ts';

/** The time between two readings. */
export const READING_MS = 5_000;
/** The length of a cell on each level; a level has `CELLS` of them: an hour, a day, a week. */
const LEVELS_MS: readonly number[] = [READING_MS, 120_000, 900_000];
const CELLS = 720;
/** The most cells of a row in a response. */
const SHOWN_CELLS_MAX = 120;
/** The most observed sessions: about 2 MB. */
export const SESSIONS_MAX = 1_000;
/** A session may have much metadata, and a page of them is in memory at once. */
const PAGE = 100;
/** The most ends that one reading looks up. */
const ENDS_MAX = 100;

/** From good to bad: the worst reading of a cell wins. */
const BEATS = ['.', 'o', 'l', 'x'] as const;

/** `.`: not observed, `o`: in time, `l`: late, `x`: lapsed or overdue. */
export type Beat = (typeof BEATS)[number];

/** A session is late when less than this part of its time to act is left. */
const LATE = 0.25;

export function beatOf({ state, authorityMs, session }: SessionInspection): Beat {
  if (state !== 'alive' || authorityMs <= 0) return 'x';
  return authorityMs < (session.ttlMs - session.graceMs) * LATE ? 'l' : 'o';
}

/** The last cells of one level. A cell is numbered by its time. */
class Cells {
  readonly #cells = new Uint8Array(CELLS);
  #last = -1;

  note(cell: number, beat: number): void {
    if (cell <= this.#last - CELLS) return;
    for (let gap = Math.max(this.#last + 1, cell - CELLS + 1); gap <= cell; gap += 1) {
      this.#cells[gap % CELLS] = 0;
    }
    this.#last = Math.max(this.#last, cell);
    const at = cell % CELLS;
    this.#cells[at] = Math.max(this.#cells[at] ?? 0, beat);
  }

  at(cell: number): number {
    const isKept = cell <= this.#last && cell > this.#last - CELLS;
    return isKept ? (this.#cells[cell % CELLS] ?? 0) : 0;
  }
}

interface Row {
  readonly owner: string;
  readonly project: string | undefined;
  readonly levels: readonly Cells[];
  seenAt: number;
  isLive: boolean;
  end?: SessionEnd;
}

function noteBeat({ levels }: Row, atMs: number, beat: Beat): void {
  for (const [nth, ms] of LEVELS_MS.entries()) {
    levels[nth]?.note(Math.floor(atMs / ms), BEATS.indexOf(beat));
  }
}

export interface ObservedSession {
  readonly id: SessionId;
  readonly owner: string;
  readonly project?: string;
  /** A letter for each cell, the oldest first. */
  readonly cells: string;
  readonly end?: SessionEnd;
}

export interface Observed {
  /** The start of the first cell. */
  readonly fromMs: number;
  readonly cellMs: number;
  readonly sessions: readonly ObservedSession[];
}

interface ObservedRange {
  readonly rangeMs: number;
  readonly toMs: number;
}

export class HeartbeatHistory {
  readonly #sessions: Pick<SessionStore, 'list' | 'inspect'>;
  readonly #clock: Clock;
  readonly #rows: Map<SessionId, Row> = new Map();
  readonly #stopping = new AbortController();
  #isCut = false;
  #sinceMs: number | undefined;

  constructor(sessions: Pick<SessionStore, 'list' | 'inspect'>, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** The time of the first reading. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** True if there were more live sessions than it observes. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Reads until `close`. A reading that fails leaves its cells unobserved. */
  start(timers: Pick<Timers, 'pause'>): void {
    const { signal } = this.#stopping;
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.read().catch(() => undefined);
        await timers.pause(READING_MS, signal);
      }
    };
    void run();
  }

  close(): void {
    this.#stopping.abort();
  }

  /** One reading of all live sessions. */
  async read(): Promise<void> {
    const live = new Set<SessionId>();
    let after: SessionId | undefined;
    do {
      const found = await this.#sessions.list({
        limit: PAGE,
        ...(after === undefined ? {} : { after }),
      });
      const nowMs = this.#clock.wallMs();
      this.#sinceMs ??= nowMs;
      for (const each of found) {
        live.add(each.session.id);
        this.#note(each, nowMs);
      }
      after = found.length < PAGE ? undefined : found.at(-1)?.session.id;
    } while (after !== undefined && live.size < SESSIONS_MAX);
    this.#isCut = after !== undefined || live.size > this.#rows.size;
    // An incomplete list does not show which sessions have ended.
    if (after === undefined) await this.#noteEnds(live);
  }

  #note(inspection: SessionInspection, nowMs: number): void {
    const { id, owner, metadata } = inspection.session;
    const row = this.#rows.get(id) ?? {
      ...{ owner, project: metadata[PROJECT_METADATA], seenAt: nowMs, isLive: true },
      levels: LEVELS_MS.map(() => new Cells()),
    };
    if (!this.#rows.has(id) && !this.#hasRoom()) return;
    this.#rows.set(id, row);
    row.seenAt = nowMs;
    noteBeat(row, nowMs, beatOf(inspection));
  }

  /** Removes the session that ended longest ago, if there is no room. */
  #hasRoom(): boolean {
    if (this.#rows.size < SESSIONS_MAX) return true;
    const ended = [...this.#rows].filter(([, { isLive }]) => !isLive);
    const [oldest] = ended.toSorted(([, one], [, other]) => one.seenAt - other.seenAt);
    return oldest !== undefined && this.#rows.delete(oldest[0]);
  }

  async #noteEnds(live: ReadonlySet<SessionId>): Promise<void> {
    const gone = [...this.#rows].filter(([id, { isLive }]) => isLive && !live.has(id));
    for (const [id, row] of gone.slice(0, ENDS_MAX)) {
      const end = (await this.#sessions.inspect(id))?.session.end;
      row.isLive = false;
      if (end === undefined) continue;
      row.end = end;
      // It lapsed, although that may have happened between two readings.
      if (end.exit === 'expired') noteBeat(row, end.at, 'x');
    }
  }

  /** The sessions that were observed in this range, those with lapses first. */
  observed({ rangeMs, toMs }: ObservedRange, maySee: (project?: string) => boolean): Observed {
    const ageMs = this.#clock.wallMs() - toMs + rangeMs;
    const fine = LEVELS_MS.findIndex((ms) => ageMs <= ms * CELLS);
    const nth = fine < 0 ? LEVELS_MS.length - 1 : fine;
    const stepMs = LEVELS_MS[nth] ?? READING_MS;
    const together = Math.max(1, Math.ceil(rangeMs / stepMs / SHOWN_CELLS_MAX));
    const cellMs = stepMs * together;
    const count = Math.ceil(rangeMs / cellMs);
    const first = Math.floor(toMs / cellMs) - count + 1;
    const sessions: ObservedSession[] = [];
    for (const [id, { owner, project, levels, end }] of this.#rows) {
      if (!maySee(project)) continue;
      let cells = '';
      for (let cell = first; cell < first + count; cell += 1) {
        let worst = 0;
        for (let part = 0; part < together; part += 1) {
          worst = Math.max(worst, levels[nth]?.at(cell * together + part) ?? 0);
        }
        cells += BEATS[worst];
      }
      if (/[^.]/.test(cells)) {
        sessions.push({ ...{ id, owner, cells }, ...present({ project, end }) });
      }
    }
    const rank = ({ cells, end }: ObservedSession): number =>
      end?.exit === 'expired' || cells.includes('x') ? 0 : 1;
    sessions.sort((a, b) => rank(a) - rank(b) || a.owner.localeCompare(b.owner));
    return { fromMs: first * cellMs, cellMs, sessions };
  }
}
