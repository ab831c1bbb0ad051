// Waiting for an execution to end.

import { isTerminal } from '../../execution/execution.ts';
import { Continuations, type HistoryEvent, saidIn } from '../../execution/history.ts';
import type { ExecutionId } from '../../execution/names.ts';
import { idParams, result, resultQuery } from '../messages/execution.ts';
import { readable } from './execution-message.ts';
import { executionFor, withinMs } from './handling.ts';
import { type Caller, type Coordinator, type Route, route } from './route.ts';

interface EndBody {
  readonly out?: object;
  readonly failure?: { readonly stack?: string } & Record<string, unknown>;
  readonly continuedAs?: ExecutionId;
}

const readResult = route({
  method: 'GET',
  path: '/v1/executions/:id/result',
  name: 'readResult',
  summary: 'How it ended, and its output; waits for it up to `waitMs`.',
  allows: ['submit', 'operate'],
  isLong: true,
  params: idParams,
  query: resultQuery,
  answers: {
    200: { what: 'It has ended.', schema: result },
    202: { what: 'It has not; ask again.', schema: result },
  },
  async handle(coordinator, { params, query, caller, signal }) {
    const record = await executionFor(coordinator, caller, params.id);
    const ended = await endOf(coordinator, record.id, {
      ...{ waitMs: query.waitMs ?? 0, signal, caller },
    });
    if (ended === undefined) {
      const now = await coordinator.store.executions.read(record.id);
      const body = { id: record.id, status: now?.status ?? record.status };
      return { status: 202, isIdle: true, body };
    }
    const { status, event } = ended;
    const { out, failure } = saidIn<EndBody>(event.body);
    const { stack: _, ...told } = failure ?? {};
    const reader = { holdfast: coordinator.holdfast, project: record.project };
    const output = status === 'completed' ? await readable(reader, { output: out ?? {} }) : {};
    const body = { id: ended.id, status, ...output, ...(failure && { failure: told }) };
    return { status: 200, body };
  },
});

interface Waiting {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

/** Of it, or of what it was continued as; undefined when that is not within the time. */
async function endOf(
  coordinator: Coordinator,
  first: ExecutionId,
  { waitMs, signal, caller }: Waiting,
): Promise<
  { readonly id: ExecutionId; readonly status: string; readonly event: HistoryEvent } | undefined
> {
  const { store, holdfast, timers } = coordinator;
  const continuations = new Continuations(first);
  for (let id = first; !signal.aborted; ) {
    const [at] = await store.executions.outcomes([id]);
    const found =
      at ??
      (waitMs === 0
        ? undefined
        : await withinMs(timers, { ms: waitMs, signal }, (until) =>
            holdfast.ended(id, { signal: until }),
          ));
    if (found === undefined || !isTerminal(found.status)) return undefined;
    const { continuedAs } = saidIn<EndBody>(found.event.body);
    if (continuedAs === undefined) return found;
    // A worker wrote that: it is looked for in the project only.
    ({ id } = await executionFor(coordinator, caller, continuations.step(continuedAs)));
    // There may be many, and a store that never waits: others have their turn, and the caller may have gone.
    await new Promise<void>((resolve) => timers.soon(resolve));
  }
  return undefined;
}

export const resultRoutes: readonly Route[] = [readResult];
