// Queries: a worker replays the history of an execution without effects, and the code's handler reads
// the state that the code has then. Nothing of the execution is written. A process without
// the code asks a worker, with a short execution of the engine's own.

import type { EngineConfig, WorkerConfig } from '../../engine/config.ts';
import { StepFailed } from '../../engine/failures.ts';
import { requireId } from '../../engine/named.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { queryState } from '../../engine/run/dry-replay.ts';
import { type Ended, runOnWorker } from '../../engine/run-on-worker.ts';
import type { ExecutionId, Payload, PipelineName } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { historyPage } from '../../store/contract/body-pages.ts';
import { Fault } from '../../support/fault.ts';
import { boundedText, readOptions } from '../../support/options.ts';

/** A question to the code of an execution. */
export interface QueryMessage {
  /** The name that the code passed to `ctx.onQuery`. */
  readonly name: string;
  /** The value that the handler gets. Default undefined. */
  readonly value?: unknown;
  /** The project of an execution that a key names. Default `default`. */
  readonly project?: string;
}

/** The input of the engine's own execution. */
export interface QueryInput {
  readonly id: ExecutionId;
  readonly name: string;
  readonly value?: unknown;
}

const QUERY = 'holdfast.query';
const EVENTS_MAX = 100;

export function queryName(name: PipelineName): string {
  return `${QUERY}/${name}`;
}

export function isQueryName(name: string): boolean {
  return name.startsWith(`${QUERY}/`);
}

/** For each pipeline with queries, the pipeline that answers them. Every worker with it runs it. */
export function queryPipelines(
  config: WorkerConfig,
  pipelines: Iterable<AnyPipeline>,
): readonly AnyPipeline[] {
  return [...pipelines]
    .filter(({ queries = [] }) => queries.length > 0)
    .filter(({ name }) => Buffer.byteLength(queryName(name)) <= NAME_BYTES_MAX)
    .map((code) =>
      pipeline<QueryInput, null>({
        name: queryName(code.name),
        async run(ctx, input) {
          const ask = (): unknown => queryState(config, code, input);
          await ctx.step('query', ask, { retry: { attempts: 1 } }).catch((error: unknown) => {
            // The failure is in the history. Without this, each would leave a dead letter.
            if (!(error instanceof StepFailed)) throw error;
          });
          return null;
        },
      }),
    ) as readonly AnyPipeline[];
}

/** The answer: the value itself, or as a worker stored it. */
export type Queried =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'stored'; readonly out: object };

export async function query(
  config: EngineConfig,
  ended: Ended,
  { ref, given }: { readonly ref: string; readonly given: QueryMessage },
): Promise<Queried> {
  const { name, value, project } = readOptions('query', given, ['name', 'value', 'project']);
  boundedText('The name of a query', name, NAME_BYTES_MAX);
  config.payloads.check('The value of a query', value);
  const id = await requireId(config, ref, project);
  const record = await config.store.executions.read(id);
  if (record === undefined) {
    const why = 'execution-unknown';
    throw new Fault(why, describeExecutionRefusal({ why, id }));
  }
  const input = { id, name, ...(value === undefined ? {} : { value }) };
  const code = config.pipelines.get(record.pipeline);
  if (code !== undefined) return { kind: 'value', value: await queryState(config, code, input) };
  const waitMs = config.relayAnswersMs;
  if (waitMs === undefined) {
    throw new Fault(
      'no-worker',
      `This process does not have the code of pipeline "${record.pipeline}". Nothing was written. Pass it: openHoldfast({ pipelines }).`,
    );
  }
  const asked = await runOnWorker(config, ended, {
    ...{ pipeline: queryName(record.pipeline), project: record.project, input },
    ...{ tag: QUERY, waitMs },
  });
  if (asked.outcome === undefined) {
    const body = JSON.stringify({ by: QUERY, reason: 'no worker took it in time' }) as Payload;
    await config.store.executions.cancel({ id: asked.id, project: record.project, body });
    throw new Fault(
      'no-worker',
      `No worker replied to the query within ${waitMs} ms. Nothing was written. Start a worker with pipeline "${record.pipeline}", which must declare the query, and try again.`,
    );
  }
  return storedAnswer(config, asked.id);
}

interface StepBody {
  readonly out?: object;
  readonly failure?: { readonly code: string; readonly message: string };
}

async function storedAnswer(config: EngineConfig, id: ExecutionId): Promise<Queried> {
  const { items: events } = await historyPage(config.store.executions, {
    ...{ id, after: 0, limit: EVENTS_MAX },
  });
  const step = events.findLast(({ kind }) => kind === 'step-completed' || kind === 'step-failed');
  const { out = {}, failure } = JSON.parse(step?.body ?? '{}') as StepBody;
  if (failure === undefined) return { kind: 'stored', out };
  if (failure.code === 'query-unknown') throw new Fault('query-unknown', failure.message);
  throw new Fault('query-failed', `${failure.code}: ${failure.message}`);
}
