// Drives an execution that has ended again: a new one that reuses what the old one finished (Y-20 … Y-22).

import type { Audited } from '../execution/audit.ts';
import type { ExecutionRecord } from '../execution/execution.ts';
import type { HistoryEvent } from '../execution/history.ts';
import type { ExecutionId, Payload, ProjectName } from '../execution/names.ts';
import { planRedrive, type RedriveMode } from '../execution/redrive-plan.ts';
import type { Redrive, RedriveAnswer } from '../store/contract/repair-store.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';
import { readWithin } from '../support/page-size.ts';
import type { EngineConfig } from './config.ts';
import { ActRefused } from './failures.ts';

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
  readonly history: readonly HistoryEvent[];
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
const CHARS_MAX = 64 * 1024 * 1024;

/** Many, with few questions; as few at a time as their histories ask for. */
export async function* endedOf(
  config: EngineConfig,
  ids: readonly ExecutionId[],
): AsyncGenerator<readonly Ended[], void, void> {
  const { executions } = config.store;
  let some: ExecutionRecord[] = [];
  let events = 0;
  for (const old of await executions.readMany(ids)) {
    if (events + old.seq > EVENTS_MAX && some.length > 0) {
      yield await withHistories(config, some);
      [some, events] = [[], 0];
    }
    some.push(old);
    events += old.seq;
  }
  if (some.length > 0) yield await withHistories(config, some);
}

async function withHistories(
  config: EngineConfig,
  some: readonly ExecutionRecord[],
): Promise<readonly Ended[]> {
  const [first] = some;
  if (first !== undefined && some.length === 1) {
    return [{ old: first, history: await wholeHistory(config, first.id) }];
  }
  const found = await config.store.executions.histories(some.map(({ id }) => id));
  const histories = new Map(found.map(({ id, events }) => [id, events]));
  return some.map((old) => ({ old, history: histories.get(old.id) ?? [] }));
}

async function wholeHistory(
  config: EngineConfig,
  id: ExecutionId,
): Promise<readonly HistoryEvent[]> {
  const { executions } = config.store;
  const events: HistoryEvent[] = [];
  for (let chars = 0; ; ) {
    const page = { after: events.at(-1)?.seq ?? 0, limit: HISTORY_PAGE };
    const { items, isCut } = await readWithin(
      page,
      (part) => executions.history({ id, ...part }),
      ({ seq }) => seq,
    );
    for (const event of items) {
      chars += event.body?.length ?? 0;
      events.push(event);
    }
    if (chars > CHARS_MAX) {
      throw new RedriveImpossible(
        id,
        `its history has more than ${CHARS_MAX} characters. Submit it anew instead.`,
      );
    }
    if (!isCut && items.length < HISTORY_PAGE) return events;
  }
}

/** What the `submitted` event of a re-drive says. */
export function redriveBody(of: ExecutionId, acting: Payload): Payload {
  return JSON.stringify({ redriveOf: of, ...(JSON.parse(acting) as object) }) as Payload;
}
