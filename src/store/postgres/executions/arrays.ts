// Array literals, as `unnest` takes them. The driver's own are made element by element with two regular
// expressions each, which shows when a flush has thousands.

export function numbers(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

/** Nothing in a uuid needs quotes. */
export function uuids(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

/** Null when all are absent: `unnest` then fills the column with nulls. */
export function sparse(
  values: readonly (string | number | boolean | null | undefined)[],
): string | null {
  let some = false;
  const parts = values.map((value) => {
    if (value === null || value === undefined) return 'NULL';
    some = true;
    return typeof value === 'string' ? quoted(value) : String(value);
  });
  return some ? `{${parts.join(',')}}` : null;
}

export function texts(values: readonly string[]): string {
  return `{${values.map(quoted).join(',')}}`;
}

const SPECIAL = /["\\]/;
const ALL_SPECIAL = /["\\]/g;

function quoted(value: string): string {
  return SPECIAL.test(value) ? `"${value.replace(ALL_SPECIAL, '\\$&')}"` : `"${value}"`;
}
