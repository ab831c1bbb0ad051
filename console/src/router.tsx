// Which page is shown: the path below /console, and what the page itself keeps in the query.

import { type AnchorHTMLAttributes, type ReactNode, useSyncExternalStore } from 'react';

const BASE = '/console';

export interface Place {
  /** Without the base, without a slash at its end; `/` for the first page. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('popstate', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('popstate', listener);
  };
}

export function usePlace(): Place {
  const href = useSyncExternalStore(subscribe, () => window.location.href);
  const { pathname, searchParams } = new URL(href);
  const path = pathname.slice(BASE.length).replace(/\/+$/, '');
  return { path: path === '' ? '/' : path, query: searchParams };
}

export function go(to: string): void {
  move('pushState', to);
  window.scrollTo(0, 0);
}

function move(method: 'pushState' | 'replaceState', to: string): void {
  window.history[method](null, '', hrefOf(to));
  for (const listener of listeners) listener();
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The same page with another query, where the reader is on it; what is undefined or empty is left out. The way
 * back leads to what was chosen before, unless it is no choice of the reader.
 */
export function goWith(
  place: Place,
  changes: Query,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const query = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    const values = typeof value === 'string' ? [value] : (value ?? []);
    for (const each of values) if (each !== '') query.append(name, each);
  }
  const text = query.toString();
  const to = text === '' ? place.path : `${place.path}?${text}`;
  if (hrefOf(to) === `${window.location.pathname}${window.location.search}`) return;
  move(replace ? 'replaceState' : 'pushState', to);
}

export function hrefOf(to: string): string {
  return `${BASE}${to}`;
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: string;
  readonly children: ReactNode;
}

export function Link({ to, children, ...rest }: LinkProps): ReactNode {
  return (
    <a
      {...rest}
      href={hrefOf(to)}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
