// Keyboard shortcuts of all pages. They do nothing while a person types.

import { useEffect } from 'react';
import { go } from './router.tsx';

export type Opened = 'palette' | 'help' | undefined;

const PLACES: Readonly<Record<string, string>> = {
  o: '/',
  e: '/executions',
  i: '/inbox',
  d: '/dead-letters',
  w: '/workers',
  s: '/schedules',
};

const SEQUENCE_MS = 1_000;

export function useKeys(onOpen: (what: Opened) => void): void {
  useEffect(() => {
    let goneAt = 0;
    const onKeyDown = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        onOpen('palette');
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const place = PLACES[event.key];
      if (performance.now() - goneAt < SEQUENCE_MS && place !== undefined) go(place);
      else if (event.key === '/') onOpen('palette');
      else if (event.key === '?') onOpen('help');
      else if (event.key === 'j') moveRow(1);
      else if (event.key === 'k') moveRow(-1);
      else if (event.key === 'g') goneAt = performance.now();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [onOpen]);
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]') !== null) return true;
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null;
}

/** Rows of tables and lists that lead somewhere. */
const ROWS = 'main .row-placed a, main .row:not(.row-placed) a, main .choice-card, main .cause a';

function moveRow(change: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)].sort(
    (one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top,
  );
  const firsts = rows.filter((row, index) => topOf(row) !== topOf(rows[index - 1]));
  const at = firsts.indexOf(document.activeElement as HTMLElement);
  firsts[at === -1 ? 0 : Math.min(firsts.length - 1, Math.max(0, at + change))]?.focus();
}

function topOf(row: HTMLElement | undefined): number | undefined {
  return row === undefined ? undefined : Math.round(row.getBoundingClientRect().top);
}
