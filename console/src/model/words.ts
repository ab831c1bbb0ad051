// How values are said.

/** Rounded to the smallest unit that is said, before it is taken apart: there are no sixty seconds. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${(ms / 1_000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${(ms / 86_400_000).toFixed(1)} d`;
}

const WHOLE = new Intl.NumberFormat('en');

export function countText(count: number): string {
  return WHOLE.format(count);
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return plural(bytes, 'byte');
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KB`;
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** The end of a UUID of version 7 is what tells two of the same minute apart. */
export function shortId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-6)}`;
}

export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** The value at a part of a sorted list. */
export function quantile(sorted: readonly number[], part: number): number | undefined {
  if (sorted.length === 0) return undefined;
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}
