// Small things that are everywhere: times, states, fences, ids.

import { type ReactNode, useEffect, useState } from 'react';
import { shownFence } from '../model/timeline.ts';
import { durationText, shortId } from '../model/words.ts';
import { Link } from '../router.tsx';

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

function formatFor(date: Date): Intl.DateTimeFormat {
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return TODAY;
  return date.getFullYear() === now.getFullYear() ? OTHER : OTHER_YEAR;
}

/** In the reader's zone; UTC when it is pointed at. */
export function Time({ at }: { readonly at: string }): ReactNode {
  const date = new Date(at);
  return (
    <time className="time" dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
      {formatFor(date).format(date)}
    </time>
  );
}

const INSTANT = /(\d{4}-\d{2}-\d{2}T[\d:.]+Z)/;

/** A sentence of the coordinator, its times in the reader's zone. */
export function Said({ text }: { readonly text: string }): ReactNode {
  return text
    .split(INSTANT)
    .map((part) => (INSTANT.test(part) ? <Time key={part} at={part} /> : part));
}

/** The time of this page, every so often. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** How long until then, or since. */
export function Until({ at }: { readonly at: string }): ReactNode {
  const ms = Date.parse(at) - useNow();
  const text = ms >= 0 ? `in ${durationText(ms)}` : `${durationText(-ms)} ago`;
  return (
    <time className="time" dateTime={at} title={`${at.replace('T', ' ').replace('Z', '')} UTC`}>
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
  return (
    <span className="states">
      <span className={`state state-${status}`}>{status}</span>
      {holds.map((hold) => (
        <span className="state state-hold" key={hold}>
          {hold}
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
      title={`fence ${fence}: epoch and number of the grant`}
    >
      {shownFence(fence)}
    </span>
  );
}

export function ExecutionLink({ id }: { readonly id: string }): ReactNode {
  return (
    <Link className="ident" to={`/executions/${id}`} title={id}>
      {shortId(id)}
    </Link>
  );
}

interface CopyProps {
  /** Or how it is made, where that is work. */
  readonly text: string | (() => string);
  readonly what: string;
}

const COPY_WORDS = { no: 'Copy', yes: 'Copied', failed: 'Cannot copy' } as const;

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

/** Browsers have a clipboard only where nobody can listen; coordinators are often reached by plain HTTP. */
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
  const place = document.querySelector('dialog[open]') ?? document.body;
  place.append(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  return isDone;
}
