// Builds array literals for `unnest`. The driver formats each element with two regular expressions,
// which is too slow for a flush with thousands of elements.

export function numbers(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

/** A UUID contains no character that needs quotes. */
export function uuids(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}

/** Returns null if all values are absent: `unnest` then fills the column with nulls. */
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

/** The id of the type `text` in a binary array. */
const TEXT_OID = 25;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/**
 * Up to this length, reserving room for the longest encoding is cheaper than measuring the text.
 */
const SHORT = 4_096;

/**
 * Like `sparse`, for long texts: an array in the protocol's binary form. It avoids quoting here and
 * parsing quotes on the server, which together took longer than the append itself.
 */
export function longTexts(values: readonly (string | null | undefined)[]): Buffer | null {
  let room = HEADER_BYTES;
  let some = false;
  let hasNulls = false;
  for (const value of values) {
    room += LENGTH_BYTES;
    if (value === null || value === undefined) {
      hasNulls = true;
      continue;
    }
    some = true;
    room += value.length <= SHORT ? value.length * 3 : Buffer.byteLength(value);
  }
  if (!some) return null;
  const bytes = Buffer.allocUnsafe(room);
  let end = 0;
  // The header: dimensions, null flag, type, length and lower bound.
  for (const field of [1, hasNulls ? 1 : 0, TEXT_OID, values.length, 1]) {
    end = bytes.writeInt32BE(field, end);
  }
  for (const value of values) {
    const isNull = value === null || value === undefined;
    const length = isNull ? NULL_LENGTH : bytes.write(value, end + LENGTH_BYTES);
    end = bytes.writeInt32BE(length, end);
    if (!isNull) end += length;
  }
  return bytes.subarray(0, end);
}

const SPECIAL = /["\\]/;
const ALL_SPECIAL = /["\\]/g;

function quoted(value: string): string {
  return SPECIAL.test(value) ? `"${value.replace(ALL_SPECIAL, '\\$&')}"` : `"${value}"`;
}
