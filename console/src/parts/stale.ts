// Whether the figures on the page may be old.

import { createContext, createElement, type ReactNode, useContext } from 'react';
import { type Contact, contactAt } from '../api/contact.ts';
import { useNow } from './now.ts';

export function useContact(): Contact {
  return contactAt(useNow());
}

const Stale = createContext(false);

/** Separate from the frame, which would otherwise render the page again with every tick of the clock. */
export function StaleProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const isStale = useContact().kind === 'stale';
  return createElement(Stale, { value: isStale }, children);
}

/** True if the figures on the page may be old. */
export function useStale(): boolean {
  return useContext(Stale);
}
