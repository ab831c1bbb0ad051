// Small parts that every page uses: times, statuses, fences, IDs.

import { type ReactNode, useEffect, useState } from 'react';
import { durationText, shortId, shownFence, statusText } from '../model/words.ts';
import { Link } from '../router.tsx';
import { useNow } from './now.ts';
import { useStale } from './stale.ts';

const TODAY = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const OTHER = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

const OTHER_YEAR = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
});

export function clockText(ms: number): string {
  return TODAY.format(ms);
}

function formatFor(date: Date): Intl.DateTimeFormat {
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return TODAY;
  return date.getFullYear() === now.getFullYear() ? OTHER : OTHER_YEAR;
}

/** UTC, and how long ago it was when the page drew it. */
function instantText(at: string): string {
  const ms = Date.parse(at) - Date.now();
  const distance = ms >= 0 ? `in ${durationText(ms)}` : `${durationText(-ms)} ago`;
  return `${at.replace('T', ' ').replace('Z', '')} UTC · ${distance}`;
}

/** In the browser's time zone; UTC as a tooltip. */
export function Time({ at }: { readonly at: string }): ReactNode {
  const date = new Date(at);
  return (
    <time className="time" dateTime={at} title={instantText(at)}>
      {formatFor(date).format(date)}
    </time>
  );
}

const BY_MS = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
});

/** The time of day to the millisecond; the date as a tooltip. */
export function MsTime({ at }: { readonly at: string }): ReactNode {
  return (
    <time className="time mono" dateTime={at} title={instantText(at)}>
      {BY_MS.format(new Date(at))}
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
  const ms = Date.parse(at) - useNow();
  const text = ms >= 0 ? `in ${durationText(ms)}` : `${durationText(-ms)} ago`;
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
