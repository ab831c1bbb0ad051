// Tags and attributes by which executions are found. The table is its own index.

import type { Submit } from '../../contract/execution-store.ts';
import { positional } from '../connection.ts';
import type { Transaction } from '../transaction.ts';

/** Attributes of another type are other labels: `1` is neither `"1"` nor `true`. */
export const LABEL_KINDS = { tag: 0, string: 1, number: 2, boolean: 3 } as const;

const ADD = positional(
  'project kind name value id',
  `
  insert into label (project, kind, name, value, execution_id)
  values (:project, :kind, :name, :value, :id)
  on conflict do nothing`,
);

export function addLabels(tx: Transaction, { id, project, tags, attributes }: Submit): void {
  for (const tag of tags) tx.statement(ADD).run(project, LABEL_KINDS.tag, '', tag, id);
  for (const [name, value] of Object.entries(attributes)) {
    tx.statement(ADD).run(project, labelKind(value), name, labelValue(value), id);
  }
}

export function labelKind(value: string | number | boolean): number {
  if (typeof value === 'string') return LABEL_KINDS.string;
  return typeof value === 'number' ? LABEL_KINDS.number : LABEL_KINDS.boolean;
}

export function labelValue(value: string | number | boolean): string | number {
  return typeof value === 'boolean' ? Number(value) : value;
}
