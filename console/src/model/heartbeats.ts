// Remembers the heartbeats of sessions that this browser observed, second by second.

export type Beat = 'ok' | 'late' | 'lost' | 'unknown';

export interface SeenSession {
  readonly id: string;
  readonly owner: string;
  readonly state: string;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly slackMs: number;
}

export const CELL_MS = 2_500;
export const CELLS = 24;

const LATE = 0.25;
/** Worse beats win when a cell has several readings. */
const ORDER: readonly Beat[] = ['unknown', 'ok', 'late', 'lost'];

export function beatOf({ state, slackMs, ttlMs, graceMs }: SeenSession): Beat {
  if (state !== 'alive' || slackMs <= 0) return 'lost';
  return slackMs < (ttlMs - graceMs) * LATE ? 'late' : 'ok';
}

export interface HeartbeatRow {
  readonly id: string;
  readonly owner: string;
  /** The oldest first; the last one is now. */
  readonly cells: readonly Beat[];
}

/** Remembers as long as the tab is open, so that going to another page loses nothing. */
export class Heartbeats {
  readonly #rows: Map<string, { owner: string; cells: Map<number, Beat> }> = new Map();

  note(sessions: readonly SeenSession[], nowMs: number): void {
    const cell = Math.floor(nowMs / CELL_MS);
    for (const session of sessions) {
      const row = this.#rows.get(session.id) ?? { owner: session.owner, cells: new Map() };
      this.#rows.set(session.id, row);
      const [before, now] = [row.cells.get(cell) ?? 'unknown', beatOf(session)];
      row.cells.set(cell, ORDER.indexOf(now) > ORDER.indexOf(before) ? now : before);
      row.cells.delete(cell - CELLS);
    }
  }

  /** Sessions that were seen within the last minute. */
  rows(nowMs: number): readonly HeartbeatRow[] {
    const last = Math.floor(nowMs / CELL_MS);
    const numbers = Array.from({ length: CELLS }, (_, index) => last - CELLS + 1 + index);
    return [...this.#rows]
      .map(([id, { owner, cells }]) => ({
        ...{ id, owner },
        cells: numbers.map((number) => cells.get(number) ?? 'unknown'),
      }))
      .filter(({ cells }) => cells.some((each) => each !== 'unknown'))
      .toSorted((one, other) => one.owner.localeCompare(other.owner));
  }
}
