import type { ExecutionRecord } from '../../../execution/execution.ts';
import { OWN_PREFIX } from '../../../execution/names.ts';
import type { AttributeFilter, ListExecutions } from '../../contract/execution-store.ts';
import { type ExecutionState, firstFrom } from './state.ts';

export function list(state: ExecutionState, query: ListExecutions): readonly ExecutionRecord[] {
  const ids = state.ids.get(query.project) ?? [];
  const found: ExecutionRecord[] = [];
  const end = query.before === undefined ? ids.length : firstFrom(ids, query.before);
  for (let place = end - 1; place >= 0 && found.length < query.limit; place -= 1) {
    const id = ids[place];
    const execution = id === undefined ? undefined : state.entries.get(id)?.execution;
    if (execution !== undefined && isWanted(execution, query)) found.push(execution);
  }
  return found;
}

function isWanted(execution: ExecutionRecord, query: ListExecutions): boolean {
  const { status, pipeline, tag, attribute, hold } = query;
  return (
    (status === undefined || status.includes(execution.status)) &&
    (pipeline === undefined
      ? !execution.pipeline.startsWith(OWN_PREFIX)
      : pipeline === execution.pipeline) &&
    (tag === undefined || execution.tags.includes(tag)) &&
    (hold === undefined || execution.holds.includes(hold)) &&
    (attribute === undefined || hasAttribute(execution, attribute))
  );
}

/** Equal by value and type; a range is of numbers, both bounds included. */
function hasAttribute({ attributes }: ExecutionRecord, filter: AttributeFilter): boolean {
  const { name, equals, min, max } = filter;
  if (!Object.hasOwn(attributes, name)) return false;
  const value = attributes[name];
  if (equals !== undefined && value !== equals) return false;
  if (min === undefined && max === undefined) return true;
  if (typeof value !== 'number') return false;
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}
