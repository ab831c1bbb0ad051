import { LANES } from '../../../execution/execution.ts';
import type { CountDepth, CountInFlight, Depth, InFlight } from '../../contract/census-store.ts';
import type { ExecutionState } from './state.ts';

export function inFlight(
  state: ExecutionState,
  { sessions, project }: CountInFlight,
): readonly InFlight[] {
  return sessions.flatMap((session) =>
    LANES.map((lane) => {
      const mine = [...(state.running.get(session) ?? [])].filter((id) => {
        const execution = state.entries.get(id)?.execution;
        return execution?.lane === lane && (project ?? execution.project) === execution.project;
      });
      return { session, lane, count: mine.length };
    }).filter(({ count }) => count > 0),
  );
}

export function depth(state: ExecutionState, { max, project }: CountDepth): readonly Depth[] {
  const now = state.kernel.now();
  const all = [...state.entries.values()]
    .map(({ execution }) => execution)
    .filter((execution) => (project ?? execution.project) === execution.project);
  return LANES.map((lane) => {
    const ofLane = all.filter((execution) => execution.lane === lane);
    const ready = ofLane.filter(
      ({ readyAt, holds }) => readyAt !== undefined && readyAt <= now && holds.length === 0,
    );
    const running = ofLane.filter(({ status }) => status === 'running');
    return { lane, ready: Math.min(max, ready.length), running: Math.min(max, running.length) };
  });
}
