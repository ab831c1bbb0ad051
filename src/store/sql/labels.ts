// The rows of `label`, by which lists find executions. They follow from `about` of the row.

import type { Attributes, ExecutionRecord } from '../../execution/execution.ts';
import { aboutOf, LABEL_KINDS } from '../execution-rows.ts';
import { all, type Script, type Sql, sql, sqlPerDialect } from './script.ts';

type LabelType = 'string' | 'number' | 'boolean';
type Named = Pick<ExecutionRecord, 'id' | 'project'>;

const forgetLabel = (isValue: string): string => `
  delete from hf.label as l
   where l.project = :project
     and l.kind = :kind
     and l.name = :name
     and ${isValue}
     and l.execution_id = :id`;

/** Finds labels by their value, because they have no index by execution. */
const FORGET: Readonly<Record<LabelType, Sql>> = {
  string: sql(forgetLabel('l.value = :value')),
  number: sqlPerDialect({ sqlite: 'l.value = :value', postgres: 'l.number = :value' }, forgetLabel),
  boolean: sqlPerDialect(
    { sqlite: 'l.value = :value', postgres: 'l.value = :value::boolean::text' },
    forgetLabel,
  ),
};

const addLabel = ([columns, values]: readonly [string, string]): string => `
  insert into hf.label (project, kind, name, ${columns}, execution_id)
  values (:project, :kind, :name, ${values}, :id)`;

const ADD: Readonly<Record<LabelType, Sql>> = {
  string: sql(addLabel(['value', ':value'])),
  number: sqlPerDialect(
    { sqlite: ['value', ':value'], postgres: ['number', ':value'] } as const,
    addLabel,
  ),
  boolean: sqlPerDialect(
    { sqlite: ['value', ':value'], postgres: ['value', ':value::boolean::text'] } as const,
    addLabel,
  ),
};

const KEEP_ABOUT = sql('update hf.execution set about = :about where id = :id');

/** Deletes the execution's labels (F-4). */
export function* forgetLabels(execution: ExecutionRecord): Script<void> {
  const { id, project, tags, attributes, lineageKey } = execution;
  for (const value of new Set(tags)) {
    yield* all(FORGET.string, { id, project, kind: LABEL_KINDS.tag, name: '', value });
  }
  if (lineageKey !== undefined) {
    const label = { kind: LABEL_KINDS.lineageKey, name: '', value: lineageKey };
    yield* all(FORGET.string, { id, project, ...label });
  }
  yield* eachLabel(FORGET, execution, attributes);
}

/** The caller must have locked the row as its owner. */
export function* replaceAttributes(
  execution: ExecutionRecord,
  attributes: Attributes,
): Script<void> {
  const { id, attributes: before } = execution;
  yield* eachLabel(FORGET, execution, withoutSame(before, attributes));
  yield* eachLabel(ADD, execution, withoutSame(attributes, before));
  yield* all(KEEP_ABOUT, { id, about: aboutOf({ ...execution, attributes }) });
}

function* eachLabel(
  statements: Readonly<Record<LabelType, Sql>>,
  { id, project }: Named,
  attributes: Attributes,
): Script<void> {
  for (const [name, value] of Object.entries(attributes)) {
    const type = typeof value as LabelType;
    yield* all(statements[type], { id, project, kind: LABEL_KINDS[type], name, value });
  }
}

function withoutSame(attributes: Attributes, other: Attributes): Attributes {
  const entries = Object.entries(attributes);
  return Object.fromEntries(entries.filter(([name, value]) => other[name] !== value));
}
