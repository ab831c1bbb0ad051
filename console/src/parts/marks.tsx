// Small parts that every page uses: times, statuses, fences, IDs.

import { type ReactNode, useEffect, useState } from 'react';
import { type TimeFormat, timeText } from '../model/time-text.ts';
import { durationText, shortId, shownFence, statusText } from '../model/words.ts';
import { Link } from '../router.tsx';
import { useTimes } from '../times.ts';
import { useNow } from './now.ts';
import { useStale } from './stale.ts';

function formatFor(date: Date): TimeFormat {
  const now = new Date();
  if (timeText('date', date) === timeText('date', now)) return 'clock';
  return date.getFullYear() === now.getFullYear() ? 'dayMinute' : 'year';
}

function distanceText(ms: number): string {
  return ms >= 0 ? `in ${durationText(ms)}` : `${durationText(-ms)} ago`;
}

/** Both time zones, and how long ago it was when the page drew it. */
function instantText(at: string): string {
  const ms = Date.parse(at);
  const utc = `${at.replace('T', ' ').replace('Z', '')} UTC`;
  return `${timeText('full', ms)} · ${utc} · ${distanceText(ms - Date.now())}`;
}

/** As the user chose; the other forms as a tooltip. */
export function Time({ at }: { readonly at: string }): ReactNode {
  const isRelative = useTimes() === 'relative';
  if (isRelative) return <Until at={at} />;
  const date = new Date(at);
  return (
    <time className="time" dateTime={at} title={instantText(at)}>
      {timeText(formatFor(date), date)}
    </time>
  );
}

/** The time of day to the millisecond; the date as a tooltip. */
export function MsTime({ at }: { readonly at: string }): ReactNode {
  useTimes();
  return (
    <time className="time mono" dateTime={at} title={instantText(at)}>
      {timeText('clockMs', new Date(at))}
    </time>
  );
}

const INSTANT = /(\d{4}-\d{2}-\d{2}T[\d:.]+Z)/;

/** A sentence from the coordinator, with its times in the browser's time zone. */
export function LinkedText({ text }: { readonly text: string }): ReactNode {
  return text
    .split(INSTANT)
    .map((part) => (INSTANT.test(part) ? <Time key={part} at={part} /> : part));
}

/** The time left, or the time since. */
export function Until({ at }: { readonly at: string }): ReactNode {
  const text = distanceText(Date.parse(at) - useNow());
  return (
    <time className="time" dateTime={at} title={instantText(at)}>
      {text}
    </time>
  );
}

export function Status({
  status,
  holds = [],
}: {
  readonly status: string;
  readonly holds?: readonly string[];
}): ReactNode {
  // An old reading of a heartbeat says nothing about now.
  const isUnknown = useStale() && status === 'alive';
  const shown = isUnknown ? 'unknown' : status;
  return (
    <span className="states">
      <span className={`state state-${shown}`}>{statusText(shown)}</span>
      {holds.map((hold) => (
        <span className="state state-hold" key={hold}>
          {statusText(hold)}
        </span>
      ))}
    </span>
  );
}

export function Tags({ tags }: { readonly tags: readonly string[] }): ReactNode {
  const text = tags.join(', ');
  return <span title={text}>{text}</span>;
}

export function Fence({
  fence,
  isOld = false,
}: {
  readonly fence: number;
  readonly isOld?: boolean;
}): ReactNode {
  return (
    <span
      className={isOld ? 'fence fence-old' : 'fence'}
      title={`Fencing token ${fence} (epoch.grant)`}
    >
      {shownFence(fence)}
    </span>
  );
}

interface ExecutionLinkProps {
  readonly id: string;
  /** Its key, if it has one: people know that one. */
  readonly text?: string | undefined;
}

export function ExecutionLink({ id, text }: ExecutionLinkProps): ReactNode {
  return (
    <Link className={text === undefined ? 'ident' : undefined} to={`/executions/${id}`} title={id}>
      {text ?? shortId(id)}
    </Link>
  );
}

interface CopyProps {
  /** A function if the text is expensive to build. */
  readonly text: string | (() => string);
  readonly what: string;
}

const COPY_WORDS = { no: 'Copy', yes: 'Copied', failed: 'Copy failed' } as const;

export function Copy({ text, what }: CopyProps): ReactNode {
  const [copied, setCopied] = useState<keyof typeof COPY_WORDS>('no');
  useEffect(() => {
    if (copied === 'no') return undefined;
    const timer = window.setTimeout(() => setCopied('no'), 1_500);
    return () => window.clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    const isDone = await copyText(typeof text === 'string' ? text : text());
    setCopied(isDone ? 'yes' : 'failed');
  };
  return (
    <button type="button" className="quiet" onClick={() => void copy()}>
      {COPY_WORDS[copied]} {copied === 'yes' ? '' : what}
    </button>
  );
}

/** Browsers offer the clipboard API only over HTTPS; coordinators are often reached over plain HTTP. */
async function copyText(text: string): Promise<boolean> {
  const { clipboard } = window.navigator as { readonly clipboard?: Clipboard };
  if (clipboard !== undefined) {
    return clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const field = document.createElement('textarea');
  field.value = text;
  // A modal dialog makes the rest of the page inert.
  const container = document.querySelector('dialog[open]') ?? document.body;
  container.append(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  return isDone;
}
