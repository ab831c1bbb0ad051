import type { LineOf, ListLines } from '../../contract/release-store.ts';
import { readLine } from './change-line.ts';
import { type ExecutionState, inByteOrder } from './state.ts';

export function lines(
  state: ExecutionState,
  { project, after = '', limit }: ListLines,
): readonly LineOf[] {
  const ofProject = [...state.releases.all()].filter((each) => each.project === project);
  return [...new Set(ofProject.map(({ pipeline }) => pipeline))]
    .sort(inByteOrder)
    .filter((pipeline) => inByteOrder(pipeline, after) > 0)
    .slice(0, limit)
    .map((pipeline) => ({ pipeline, ...readLine(state, { project, pipeline }) }));
}
