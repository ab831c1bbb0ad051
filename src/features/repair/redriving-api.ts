// Drives an execution that has ended again: a new one that reuses what the old one finished (Y-20 … Y-22).

import type { EngineConfig } from '../../engine/config.ts';
import { ActRefused } from '../../engine/failures.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import type { ExecutionId, Payload, ProjectName } from '../../execution/names.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { shown } from '../../support/options.ts';
import { bodyChars, readWithin } from '../../support/page-size.ts';
import type { Audited } from '../audit/model.ts';
import { planRedrive, type RedriveMode } from './plan-decide.ts';
import type { Redrive, RedriveAnswer } from './port.ts';

const HISTORY_PAGE = 2_000;

export function modeOf(mode: unknown): RedriveMode {
  if (mode === undefined || mode === 'forward') return 'forward';
  if (mode === 'compensate') return mode;
  throw new InvalidInput(`mode is "forward" or "compensate"; got ${shown(mode)}.`);
}

export interface RedriveAsked extends Audited {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly mode: RedriveMode;
  readonly from?: string;
  /** The release of the new one; what is active unless said. */
  readonly release?: string;
  /** Who and why, as the new one's `submitted` event says it. */
  readonly acting: Payload;
  readonly job?: ExecutionId;
}

/** It has been so decided, by what its history says, that it cannot be driven again like this. */
export class RedriveImpossible extends Fault {
  override readonly name = 'RedriveImpossible';

  constructor(id: ExecutionId, why: string) {
    super('redrive-impossible', `Execution ${id} cannot be driven again: ${why}`);
  }
}

/** What is driven again, and all that it did. */
export interface Ended {
  readonly old: ExecutionRecord;
  readonly history: readonly HistoryEvent[] | 'too-large';
}

export async function redrive(config: EngineConfig, asked: RedriveAsked): Promise<RedriveAnswer> {
  const old = await config.store.executions.read(asked.id);
  const ended = old && { old, history: await wholeHistory(config, old.id) };
  return config.store.executions.redrive(redriveOf(config, asked, ended));
}

/** What is asked of the store; throws when there is nothing to ask. */
export function redriveOf(
  config: EngineConfig,
  asked: RedriveAsked,
  ended: Ended | undefined,
): Redrive {
  const { id, project, mode, from, acting, job, audit, release } = asked;
  if (ended === undefined || ended.old.project !== project) {
    throw new ActRefused({ why: 'execution-unknown', id });
  }
  const { old, history } = ended;
  if (history === 'too-large') {
    const why = `its history has more than ${CHARS_MAX} characters. Submit it anew instead.`;
    throw new RedriveImpossible(id, why);
  }
  const plan = planRedrive(history, { mode, ...(from === undefined ? {} : { from }) });
  if (plan.kind === 'impossible') throw new RedriveImpossible(id, plan.why);
  return {
    of: id,
    project,
    submit: {
      ...submitAgain(old, config.ids.next(), acting),
      ...(release === undefined ? {} : { release }),
    },
    events: plan.events,
    compensating: mode === 'compensate',
    compensable: plan.compensable,
    ...(job === undefined ? {} : { job }),
    ...(audit === undefined ? {} : { audit }),
  };
}

/** What the old one was asked for, but for its key and its parent, which the old one keeps. */
function submitAgain(old: ExecutionRecord, id: ExecutionId, acting: Payload): Redrive['submit'] {
  const { project, pipeline, lane, input, lineage, tags, attributes } = old;
  const { deadlineMs, concurrency, rate, template, submittedBy, scheduled, traceparent } = old;
  return {
    ...{ id, project, pipeline, lane, input, lineage, tags, attributes },
    redriveOf: old.id,
    body: acting,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(template === undefined ? {} : { template }),
    ...(submittedBy === undefined ? {} : { submittedBy }),
    ...(scheduled === undefined ? {} : { scheduled }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** Bounds what is in memory at once: histories can be long. */
const EVENTS_MAX = 5_000;
const BYTES_MAX = 16 * 1024 * 1024;
/** Of one alone, which is read in pages. */
const CHARS_MAX = 64 * 1024 * 1024;

/** Many, with few questions; as few at a time as their histories ask for. */
export async function* endedOf(
  config: EngineConfig,
  ids: readonly ExecutionId[],
): AsyncGenerator<readonly Ended[], void, void> {
  for (let left = await config.store.executions.readMany(ids); left.length > 0; ) {
    const some = await withHistories(config, fewOf(left));
    yield some;
    left = left.slice(some.length);
  }
}

/** At least one. */
function fewOf(left: readonly ExecutionRecord[]): readonly ExecutionRecord[] {
  let events = 0;
  const end = left.findIndex(({ seq }, nth) => {
    events += seq;
    return nth > 0 && events > EVENTS_MAX;
  });
  return end < 0 ? left : left.slice(0, end);
}

/** As many of the first as fit, at least one. */
async function withHistories(
  config: EngineConfig,
  some: readonly ExecutionRecord[],
): Promise<readonly Ended[]> {
  const query = { ids: some.map(({ id }) => id), bytesMax: BYTES_MAX };
  const found = await config.store.executions.histories(query);
  const histories = new Map(found.map(({ id, events }) => [id, events]));
  const end = some.findLastIndex(({ id }) => histories.has(id)) + 1;
  const [first] = some;
  if (first !== undefined && end === 0) {
    return [{ old: first, history: await wholeHistory(config, first.id) }];
  }
  return some.slice(0, end).map((old) => ({ old, history: histories.get(old.id) ?? [] }));
}

async function wholeHistory(config: EngineConfig, id: ExecutionId): Promise<Ended['history']> {
  const { executions } = config.store;
  const events: HistoryEvent[] = [];
  for (let chars = 0; ; ) {
    const page = { after: events.at(-1)?.seq ?? 0, limit: HISTORY_PAGE };
    const { items, isCut } = await readWithin(page, (part) => executions.history({ id, ...part }), {
      placeOf: ({ seq }) => seq,
      charsOf: bodyChars,
    });
    for (const event of items) {
      chars += bodyChars(event);
      events.push(event);
    }
    if (chars > CHARS_MAX) return 'too-large';
    if (!isCut && items.length < HISTORY_PAGE) return events;
  }
}

/** What the `submitted` event of a re-drive says. */
export function redriveBody(of: ExecutionId, acting: Payload): Payload {
  return JSON.stringify({ redriveOf: of, ...(JSON.parse(acting) as object) }) as Payload;
}
