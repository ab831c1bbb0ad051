// Detects that the figures on the page may be old.

import { createContext, createElement, type ReactNode, useContext } from 'react';
import { type Contact, contactAt } from '../api/contact.ts';
import { useNow } from './now.ts';

const CurrentContact = createContext<Contact>({ kind: 'returning' });
const Stale = createContext(false);

/**
 * Reads the clock once for the whole page, so that the banner never appears over figures that still
 * have their colours. The second context spares the page a render with every tick.
 */
export function StaleProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const contact = contactAt(useNow());
  const page = createElement(Stale, { value: contact.kind === 'stale' }, children);
  return createElement(CurrentContact, { value: contact }, page);
}

/** Changes every second. */
export function useContact(): Contact {
  return useContext(CurrentContact);
}

/** True if the figures on the page may be old. */
export function useStale(): boolean {
  return useContext(Stale);
}
