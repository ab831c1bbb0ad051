// A history as a file: the record, its events and its large values, as they are stored. Tests replay
// it against newer code (RE-10).

import type { ExecutionRecord } from '../execution/execution.ts';
import type { HistoryEvent } from '../execution/history.ts';
import type { ExecutionId } from '../execution/names.ts';
import type { BrokenReplay } from '../features/releases/model.ts';
import { historyPages } from '../store/contract/body-pages.ts';
import { Fault } from '../support/fault.ts';
import type { EngineConfig, WorkerConfig } from './config.ts';
import type { AnyPipeline } from './pipeline.ts';
import { replayEvents, withoutEnd } from './run/dry-replay.ts';

/** An execution with its history, as `saveHistory` returns it. Keep it as JSON. */
export interface SavedHistory {
  /** The version of the format. */
  readonly format: typeof HISTORY_FORMAT;
  /** The execution. */
  readonly execution: ExecutionRecord;
  /** Its events, in order. Their bodies are as they are stored, so encrypted values stay so. */
  readonly events: readonly HistoryEvent[];
  /** Large values in base64, by their digest. */
  readonly blobs: Readonly<Record<string, string>>;
}

export const HISTORY_FORMAT = 'holdfast-history-1';
const EVENTS_MAX = 10_000;
/** Characters of bodies and of large values. */
const SIZE_MAX = 16 * 1_048_576;
const REFERENCES = /"ref":"([0-9a-f]{64})"/g;

/** Undefined if there is no such execution. */
export async function saveHistory(
  { store, payloads }: EngineConfig,
  id: ExecutionId,
): Promise<SavedHistory | undefined> {
  const execution = await store.executions.read(id);
  if (execution === undefined) return undefined;
  const events: HistoryEvent[] = [];
  const blobs: Record<string, string> = {};
  let size = 0;
  const add = (characters: number): void => {
    size += characters;
    if (size > SIZE_MAX || events.length > EVENTS_MAX) throw tooLarge(id);
  };
  const keep = async (text = ''): Promise<void> => {
    add(text.length);
    for (const [, digest = ''] of text.matchAll(REFERENCES)) {
      if (digest in blobs) continue;
      const bytes = await payloads.of(execution.project).stored(digest);
      if (bytes === undefined) continue;
      add(bytes.length);
      blobs[digest] = Buffer.from(bytes).toString('base64');
    }
  };
  await keep(execution.input);
  for await (const page of historyPages(store.executions, { id })) {
    events.push(...page);
    for (const { body } of page) await keep(body);
  }
  return { format: HISTORY_FORMAT, execution, events, blobs };
}

function tooLarge(id: ExecutionId): Fault {
  return new Fault(
    'payload-too-large',
    `The history of execution ${id} has more than ${EVENTS_MAX} events or ${SIZE_MAX / 1_048_576} MiB. Nothing was saved. Save a shorter one.`,
  );
}

/** Undefined if the code agrees with the events. The end of the execution is not compared. */
export function replaySaved(
  config: WorkerConfig,
  pipeline: AnyPipeline,
  saved: SavedHistory,
): Promise<Pick<BrokenReplay, 'why' | 'seq'> | undefined> {
  return replayEvents(config, pipeline, withoutEnd(saved));
}
