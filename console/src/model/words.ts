// Numbers, durations, IDs and codes as text.

/** Rounded to its smallest unit before it is split, so that no text has sixty seconds. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${(ms / 1_000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return inTwo(seconds, 60, ['min', 's']);
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1_440) return inTwo(minutes, 60, ['h', 'min']);
  return inTwo(Math.round(ms / 3_600_000), 24, ['d', 'h']);
}

/** For percentiles: they come from histograms, whose buckets are 19 % wide. */
export function aboutText(ms: number): string {
  return `≈ ${durationText(ms)}`;
}

function inTwo(count: number, size: number, [large, small]: readonly [string, string]): string {
  const rest = count % size;
  return `${Math.floor(count / size)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

const INTEGER_FORMAT = new Intl.NumberFormat('en');

export function countText(count: number): string {
  return INTEGER_FORMAT.format(count);
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return plural(bytes, 'byte');
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

/** Keeps the end: the start of a version 7 UUID is the same for all of one minute. */
export function shortId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-6)}`;
}

export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** The count of a list that was read page by page: `200+ executions` while there is another page. */
export function countedText(
  { count, hasMore }: { readonly count: number; readonly hasMore: boolean },
  one: string,
  many: string = `${one}s`,
): string {
  return hasMore ? `${countText(count)}+ ${many}` : plural(count, one, many);
}

const COUNTERS = 2 ** 40;

/** Epoch and counter of a fence, as the command line prints them. */
export function shownFence(fence: number): string {
  return `${Math.floor(fence / COUNTERS)}.${fence % COUNTERS}`;
}

/** A status, an event kind or another code in sentence case. */
export function sentenceCase(code: string): string {
  return `${code.charAt(0).toUpperCase()}${code.slice(1).replaceAll('-', ' ')}`;
}

/** Sessions are `alive`; everything else is named by its code. */
export function statusText(status: string): string {
  return status === 'alive' ? 'Healthy' : sentenceCase(status);
}

/** An action of a job or of the audit log. */
export function actionText(action: string): string {
  return sentenceCase(action).replace('edrive', 'e-drive');
}

/** The key of a call, such as `undo:step:charge#1`, as text: `compensation of charge`. */
export function callText(key: string): string {
  const [, undo, kind, name, nth] = /^(undo:)?(\w+):(.+)#(\d+)$/.exec(key) ?? [];
  if (name === undefined) return key;
  const text = nth === '1' ? name : `${name} #${nth}`;
  return undo === undefined ? `${kind} ${text}` : `compensation of ${text}`;
}

/** Earlier builds recorded `anybody` or `unknown` for callers without a name. */
export function actorText(actor: string): string {
  return actor === 'anybody' || actor === 'unknown' ? 'anonymous' : actor;
}

const CHILD = /\b(?:child|first is) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/;

/** The child that an explanation names, if there is one. */
export function childIn(sentence: string): string | undefined {
  return CHILD.exec(sentence)?.[1];
}
