// The choice how pages show times: in the browser's time zone, in UTC, or as a distance from now.

import { useSyncExternalStore } from 'react';
import { chosenTimes, setTimes, type Times } from './model/time-text.ts';

const KEY = 'holdfast.times';

export const OWN_ZONE: string = Intl.DateTimeFormat().resolvedOptions().timeZone;

const listeners = new Set<() => void>();

/** Call it once, before the first page. */
export function loadTimes(): void {
  const saved = window.localStorage.getItem(KEY);
  if (saved === 'utc' || saved === 'relative') setTimes(saved);
}

export function chooseTimes(times: Times): void {
  window.localStorage.setItem(KEY, times);
  setTimes(times);
  for (const listener of listeners) listener();
}

export function useTimes(): Times {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosenTimes);
}
