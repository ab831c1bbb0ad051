// Times as text, in the chosen time zone.

export type Times = 'local' | 'utc' | 'relative';

let chosen: Times = 'local';

export function chosenTimes(): Times {
  return chosen;
}

export function setTimes(times: Times): void {
  chosen = times;
  formats.clear();
}

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const DAY = { month: 'short', day: '2-digit' } as const;

const PARTS = {
  clock: { ...CLOCK, second: '2-digit' },
  clockMs: { ...CLOCK, second: '2-digit', fractionalSecondDigits: 3 },
  minute: CLOCK,
  dayMinute: { ...DAY, ...CLOCK },
  year: { year: 'numeric', ...DAY },
  date: { dateStyle: 'short' },
  full: { dateStyle: 'medium', timeStyle: 'medium' },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;

export type TimeFormat = keyof typeof PARTS;

const formats = new Map<TimeFormat, Intl.DateTimeFormat>();

/** In the chosen time zone. */
export function timeText(format: TimeFormat, at: number | Date): string {
  const known = formats.get(format);
  if (known !== undefined) return known.format(at);
  const zone = chosen === 'utc' ? { timeZone: 'UTC' } : {};
  const made = new Intl.DateTimeFormat(undefined, { ...PARTS[format], ...zone });
  formats.set(format, made);
  return made.format(at);
}

/** The text of a `datetime-local` field; empty for a time that cannot be read. */
export function fieldText(at: string | undefined): string {
  const ms = Date.parse(at ?? '');
  return Number.isNaN(ms) ? '' : new Date(ms - zoneMs(ms)).toISOString().slice(0, 19);
}

export function atOfField(text: string): string | undefined {
  const ms = Date.parse(chosen === 'utc' ? `${text}Z` : text);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

function zoneMs(ms: number): number {
  return chosen === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
}
