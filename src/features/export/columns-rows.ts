// Which columns of a table go into an export, and how they come back. The export has the columns that
// both SQL stores have; where a store has something else, it says how one follows from the other.

import { Fault } from '../../support/fault.ts';

/** How a table differs from its section in an export. In expressions `:name` is a column of the export. */
export interface Differs {
  /** Columns of the export that are no column of the table, or another one: how they are read. */
  readonly reads?: Readonly<Record<string, string>>;
  /** Columns of the table that are not in the export under that name: what is written to them. */
  readonly writes?: Readonly<Record<string, string>>;
  /** Run after each insert. */
  readonly also?: string;
}

/** The columns of the export, from those of the table. */
export function exportedColumns(
  found: readonly string[],
  differs: Differs = {},
): readonly string[] {
  const { reads = {}, writes = {} } = differs;
  const same = found.filter((name) => !Object.hasOwn(writes, name));
  return [...new Set([...same, ...Object.keys(reads)])];
}

/** What is written to which column of the table, given these columns of an export. */
export function writtenColumns(
  found: readonly string[],
  differs: Differs | undefined,
  given: readonly string[],
): readonly (readonly [column: string, expression: string])[] {
  const { writes = {} } = differs ?? {};
  return found.flatMap((name) => {
    const expression = writes[name] ?? (given.includes(name) ? `:${name}` : undefined);
    return expression === undefined ? [] : [[name, expression] as const];
  });
}

/** EX-9: what this build has no place for would be lost. */
export function refuseUnknown(
  table: string,
  given: readonly string[],
  known: readonly string[] | undefined,
): void {
  if (known === undefined) throw newer(`the table "${table}"`);
  const unknown = given.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw newer(`"${unknown.join('", "')}" of the table "${table}"`);
}

function newer(what: string): Fault {
  return new Fault(
    'export-too-new',
    `The export has ${what}, which this version has no place for: it was made by a newer one. Nothing was imported; import it with that version.`,
  );
}

/** EX-5. */
export function notSealed(): Fault {
  return new Fault(
    'not-sealed',
    'Only a store that is sealed can be exported: what is written to it meanwhile would be lost. It was unsealed under way; export it again.',
  );
}
