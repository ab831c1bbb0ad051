// Replays saved histories in tests, to check that code still agrees with the records of earlier
// code.

import { resolveWorkerConfig } from '../../src/engine/config.ts';
import { SILENT } from '../../src/engine/observer.ts';
import { type AnyPipeline, type Pipeline, pipelineOf } from '../../src/engine/pipeline.ts';
import { HISTORY_FORMAT, replaySaved, type SavedHistory } from '../../src/engine/saved-history.ts';
import type { PayloadCodec } from '../../src/engine/values/payloads.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { InvalidInput } from '../../src/support/fault.ts';
import { present, readOptions } from '../../src/support/options.ts';

/** Options of `replayHistory`. */
export interface ReplayHistoryOptions {
  /** The codec that encrypted the values. Default none. */
  readonly codec?: PayloadCodec;
}

/** The result of `replayHistory`. */
export type ReplayedHistory =
  | {
      /** The code makes the calls that the history has. */
      readonly kind: 'same';
    }
  | {
      /** The code would block the execution. */
      readonly kind: 'differs';
      /** The difference, for people. */
      readonly why: string;
      /** The number of the event that the code contradicts. */
      readonly seq?: number;
    };

/**
 * Runs a pipeline's code against a saved history and returns whether they agree. It runs no step and
 * writes nothing. The result of the execution is not compared.
 *
 * Save histories with `holdfast.saveHistory(id)` or `holdfast history <id> --save file.json`. Throws
 * `InvalidInput` if `saved` is not such a history, or belongs to another pipeline.
 *
 * @example
 * import { readFile } from 'node:fs/promises';
 * import { pipeline } from 'holdfast';
 *
 * const order = pipeline({ name: 'order', run: (ctx) => ctx.step('charge', () => 7) });
 * const saved = JSON.parse(await readFile('histories/order.json', 'utf8'));
 * const replayed = await replayHistory(order, saved);
 * if (replayed.kind === 'differs') throw new Error(replayed.why);
 */
export async function replayHistory<Input, Output>(
  pipeline: Pipeline<Input, Output>,
  saved: SavedHistory,
  options: ReplayHistoryOptions = {},
): Promise<ReplayedHistory> {
  const { codec } = readOptions('replayHistory', options, ['codec']);
  const code = pipelineOf('replayHistory', pipeline) as AnyPipeline;
  const { format, execution, events, blobs } = readOptions('replayHistory: saved', saved, NAMES);
  if (format !== HISTORY_FORMAT || !Array.isArray(events) || typeof blobs !== 'object') {
    throw new InvalidInput(
      `replayHistory: this is not a saved history of the format ${HISTORY_FORMAT}. Save it with holdfast.saveHistory(id).`,
    );
  }
  if (execution.pipeline !== code.name) {
    throw new InvalidInput(
      `replayHistory: the history belongs to pipeline "${execution.pipeline}", not to "${code.name}". Pass that pipeline.`,
    );
  }
  const memory = openMemoryStore();
  const { executions } = memory;
  const getBlob: typeof executions.getBlob = async ({ digest }) => {
    const text = Object.hasOwn(blobs, digest) ? blobs[digest] : undefined;
    return text === undefined ? undefined : new Uint8Array(Buffer.from(text, 'base64'));
  };
  const store = { ...memory, executions: { ...executions, getBlob } };
  try {
    const nothing = { ended: () => undefined, awaitDueIn: () => undefined };
    const config = resolveWorkerConfig({ store, observer: SILENT, ...present({ codec }) }, nothing);
    const broken = await replaySaved(config, code, { format, execution, events, blobs });
    return broken === undefined ? { kind: 'same' } : { kind: 'differs', ...broken };
  } finally {
    await memory.close();
  }
}

const NAMES: readonly (keyof SavedHistory)[] = ['format', 'execution', 'events', 'blobs'];
