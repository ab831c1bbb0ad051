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

/** The type `text`, as arrays that are sent as bytes name it. */
const TEXT_OID = 25;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** Up to here room for the longest encoding is cheaper than a look. */
const SHORT = 4_096;

/**
 * As `sparse`, for long texts: an array in the binary form of the protocol. Nothing in it is quoted here nor
 * looked through for quotes there, which took longer than the append itself.
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
  // Dimensions, whether there are nulls, the type, how many, and the place of the first.
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
