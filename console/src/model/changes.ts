// The changes of an operation in one line: `paused: false → true`. Pure.

export function changeText(before: unknown, after: unknown): string {
  if (before === undefined && after === undefined) return '';
  if (!isRecord(before ?? {}) || !isRecord(after ?? {})) {
    return `${shown(before)} → ${shown(after)}`;
  }
  const [from, to] = [before ?? {}, after ?? {}] as [Fields, Fields];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return names
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => `${name}: ${shownAs(name, from[name])} → ${shownAs(name, to[name])}`)
    .join(', ');
}

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Stores keep times as milliseconds. */
function shownAs(name: string, value: unknown): string {
  const isTime = name.endsWith('At') && typeof value === 'number';
  return isTime ? new Date(value).toISOString() : shown(value);
}

function shown(value: unknown): string {
  if (value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
