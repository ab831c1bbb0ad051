// How values are said.

export function durationText(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < 1_000) return `${Math.round(ms)} ms`;
  if (abs < 60_000) return `${(ms / 1_000).toFixed(abs < 10_000 ? 1 : 0)} s`;
  if (abs < 3_600_000)
    return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  if (abs < 86_400_000)
    return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
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
