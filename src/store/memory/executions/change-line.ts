import { isTerminal } from '../../../execution/execution.ts';
import { decideLine, nameBefore, nameMeant } from '../../../release/decide/line.ts';
import { type Activation, type Line, NO_LINE } from '../../../release/release.ts';
import type {
  ChangeLine,
  LineChanged,
  ListActivations,
  OfPipeline,
  Pinned,
} from '../../contract/release-store.ts';
import { readRelease } from './releases.ts';
import type { ExecutionState } from './state.ts';

export function changeLine(state: ExecutionState, request: ChangeLine): LineChanged {
  const { project, pipeline, act, actor, reason } = request;
  const line = readLine(state, request);
  const name = nameMeant(line, request) ?? '';
  const of = (each: string) => readRelease(state, { project, pipeline, name: each });
  const release = of(name);
  const open = pinned(state, request).find((each) => each.release === name)?.open ?? 0;
  const view = { line, release, before: of(nameBefore(line) ?? ''), pinned: open };
  const decision = decideLine(view, request);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'no-change') return decision;
  const at = state.kernel.now();
  const { version: _, ...before } = line;
  const { version, ...after } = decision.line;
  state.releases.change(request, decision.line, {
    ...{ project, pipeline, version, at, act, name, actor, reason, before, after },
    forced: decision.forced,
  });
  if (act === 'retire' && release !== undefined) state.releases.put({ ...release, retiredAt: at });
  return { kind: 'changed', line: decision.line };
}

export function readLine(state: ExecutionState, of: OfPipeline): Line {
  return state.releases.line(of) ?? NO_LINE;
}

export function activations(state: ExecutionState, query: ListActivations): readonly Activation[] {
  const { before = Number.POSITIVE_INFINITY, limit } = query;
  return state.releases
    .log(query)
    .filter(({ version }) => version < before)
    .toReversed()
    .slice(0, limit);
}

/** By name. */
export function pinned(
  state: ExecutionState,
  { project, pipeline }: OfPipeline,
): readonly Pinned[] {
  const counts = new Map<string, number>();
  for (const { execution } of state.entries.values()) {
    const isOf = execution.project === project && execution.pipeline === pipeline;
    const name = execution.release;
    if (!isOf || name === undefined || isTerminal(execution.status)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([release, open]) => ({ release, open }));
}
