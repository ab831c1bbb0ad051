// `exportStore`: seals a store and writes all that it keeps into a file.

import type { MoveStore } from '../features/export/port.ts';
import { epochOf } from '../lease/fence.ts';
import { boundedText, readOptions } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { ExportFile } from './move-files.ts';
import { FORMAT } from './move-header.ts';
import { LineWriter } from './move-lines.ts';
import { openExistingMove, optionalFunction, postgresOf, TEXT_MAX } from './move-options.ts';
import type { PostgresSettings } from './open-store.ts';

export interface ExportStoreOptions {
  /** `postgres://…`, or the path of a SQLite file. */
  readonly store: string;
  /** The file that is made. Gzipped when its name ends in `.gz`. */
  readonly to: string;
  /** Who does it; shown to whoever is refused. */
  readonly actor: string;
  readonly reason: string;
  readonly postgres?: PostgresSettings;
  readonly onProgress?: (progress: MoveProgress) => void;
}

export interface MoveProgress {
  /** `waiting`: all is written; whoever held something may believe so for another while (EX-4). */
  readonly doing: 'sealed' | 'rows' | 'waiting';
  readonly table?: string;
  readonly rows: number;
  readonly leftMs?: number;
}

export interface StoreExported {
  /** `again`: it was sealed before, by whoever that was; what is in it is the same. */
  readonly kind: 'exported' | 'exported-again';
  readonly id: string;
  readonly epoch: number;
  readonly rows: number;
}

const NAMES = ['store', 'to', 'actor', 'reason', 'postgres', 'onProgress'] as const;

/** EX-1 to EX-5. When it fails after the seal, it can be called again: nothing changes any more. */
export async function exportStore(options: ExportStoreOptions): Promise<StoreExported> {
  const asked = checked(options);
  const move = await openExistingMove(asked.store, asked.postgres);
  try {
    const file = await ExportFile.make(asked.to);
    try {
      const exported = await writeAll(move, { ...asked, file });
      await file.finish();
      return exported;
    } catch (fault) {
      await file.discard();
      throw fault;
    }
  } finally {
    await move.close();
  }
}

function checked(options: ExportStoreOptions): ExportStoreOptions {
  const read = readOptions('exportStore', options, NAMES);
  boundedText('exportStore: store', read.store, TEXT_MAX);
  boundedText('exportStore: to', read.to, TEXT_MAX);
  boundedText('exportStore: actor', read.actor, TEXT_MAX);
  boundedText('exportStore: reason', read.reason, TEXT_MAX);
  optionalFunction('exportStore: onProgress', read.onProgress);
  return { ...read, postgres: postgresOf('exportStore', read.postgres) };
}

interface Writing extends ExportStoreOptions {
  readonly file: ExportFile;
}

async function writeAll(move: MoveStore, writing: Writing): Promise<StoreExported> {
  const { to, actor, reason, file, onProgress = () => undefined } = writing;
  const id = systemRandom.uuid();
  const { kind, seal } = await move.seals.seal({ id, actor, reason, to });
  onProgress({ doing: 'sealed', rows: 0 });
  const writer = new LineWriter();
  const epoch = await move.dump(async (dumped) => {
    const { counters } = dumped;
    const of = { kind: move.kind, schema: move.schema, epoch: epochOf(counters.fence) };
    const header = {
      holdfast: 'export',
      format: FORMAT,
      ...of,
      seal: dumped.seal,
      counters,
    } as const;
    await file.write(writer.header(header));
    for await (const some of dumped.rows) {
      await file.write(writer.some(some));
      onProgress({ doing: 'rows', table: some.table, rows: writer.rows });
    }
    return of.epoch;
  });
  await untilNobodyHolds(move, { heldUntil: seal.heldUntil, rows: writer.rows, onProgress });
  await file.write(writer.end());
  const again = kind === 'sealed' ? 'exported' : 'exported-again';
  return { kind: again, id: seal.id, epoch, rows: writer.rows };
}

interface Waiting {
  readonly heldUntil: number;
  readonly rows: number;
  readonly onProgress: (progress: MoveProgress) => void;
}

const LOOK_MS = 250;

/**
 * EX-4: an export is whole, and so can be imported, only when nobody can believe any more to hold something of
 * this store. No clock of another store is needed for that.
 */
async function untilNobodyHolds(move: MoveStore, waiting: Waiting): Promise<void> {
  const { heldUntil, rows, onProgress } = waiting;
  for (;;) {
    const leftMs = heldUntil - (await move.now());
    if (leftMs <= 0) return;
    onProgress({ doing: 'waiting', rows, leftMs });
    await systemTimers.pause(Math.min(leftMs, LOOK_MS));
  }
}
