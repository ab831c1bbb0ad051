// Drives an execution that has ended again: a new one that reuses what the old one finished (Y-20 … Y-22).

import type { ExecutionRecord } from '../execution/execution.ts';
import type { HistoryEvent } from '../execution/history.ts';
import type { ExecutionId, Payload, ProjectName } from '../execution/names.ts';
import { planRedrive, type RedriveMode } from '../execution/redrive-plan.ts';
import type { Redrive, RedriveAnswer } from '../store/contract/repair-store.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { ActRefused } from './failures.ts';

const HISTORY_PAGE = 2_000;

export function modeOf(mode: unknown): RedriveMode {
  if (mode === undefined || mode === 'forward') return 'forward';
  if (mode === 'compensate') return mode;
  throw new InvalidInput(`mode is "forward" or "compensate"; got ${shown(mode)}.`);
}

export interface RedriveAsked {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly mode: RedriveMode;
  readonly from?: string;
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

export async function redrive(config: EngineConfig, asked: RedriveAsked): Promise<RedriveAnswer> {
  const planned = await redriveOf(config, asked);
  return config.store.executions.redrive(planned);
}

/** What would be asked of the store; throws when there is nothing to ask. */
export async function redriveOf(config: EngineConfig, asked: RedriveAsked): Promise<Redrive> {
  const { id, project, mode, from, acting, job } = asked;
  const old = await config.store.executions.read(id);
  if (old === undefined || old.project !== project) {
    throw new ActRefused({ why: 'execution-unknown', id });
  }
  const history = await wholeHistory(config, id);
  const plan = planRedrive(history, { mode, ...(from === undefined ? {} : { from }) });
  if (plan.kind === 'impossible') throw new RedriveImpossible(id, plan.why);
  return {
    of: id,
    project,
    submit: submitAgain(old, config.ids.next(), acting),
    events: plan.events,
    compensating: mode === 'compensate',
    compensable: plan.compensable,
    ...(job === undefined ? {} : { job }),
  };
}

/** What the old one was asked for, but for its key and its parent, which the old one keeps. */
function submitAgain(old: ExecutionRecord, id: ExecutionId, acting: Payload): Redrive['submit'] {
  const { project, pipeline, lane, input, lineage, tags, attributes } = old;
  const { deadlineMs, concurrency, rate, template, submittedBy, traceparent } = old;
  return {
    ...{ id, project, pipeline, lane, input, lineage, tags, attributes },
    redriveOf: old.id,
    body: acting,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(template === undefined ? {} : { template }),
    ...(submittedBy === undefined ? {} : { submittedBy }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

async function wholeHistory(
  config: EngineConfig,
  id: ExecutionId,
): Promise<readonly HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await config.store.executions.history({ id, after, limit: HISTORY_PAGE });
    for (const event of page) events.push(event);
    if (page.length < HISTORY_PAGE) return events;
  }
}

/** What the `submitted` event of a re-drive says. */
export function redriveBody(of: ExecutionId, acting: Payload): Payload {
  return JSON.stringify({ redriveOf: of, ...(JSON.parse(acting) as object) }) as Payload;
}
