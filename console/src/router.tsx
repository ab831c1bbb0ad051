// The router. The path below /console selects the page; the query holds the page's own state.

import { type AnchorHTMLAttributes, type ReactNode, useSyncExternalStore } from 'react';

const BASE = '/console';

export interface PageLocation {
  /** Without `/console` and without a trailing slash; `/` is the overview. */
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

export function useLocation(): PageLocation {
  return locationOf(useSyncExternalStore(subscribe, () => window.location.href));
}

export function locationOf(href: string): PageLocation {
  const { pathname, searchParams } = new URL(href);
  const path = pathname.slice(BASE.length).replace(/\/+$/, '');
  return { path: path === '' ? '/' : path, query: searchParams };
}

export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  move(`${how}State`, to);
  window.scrollTo(0, 0);
}

function move(method: 'pushState' | 'replaceState', to: string): void {
  window.history[method](null, '', hrefOf(to));
  for (const listener of listeners) listener();
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Changes the query of the page and keeps its scroll position. Undefined and empty values are removed.
 * The back button returns to the previous query, unless `replace` is set: use that for changes that the
 * user did not make.
 */
export function goWith(
  location: PageLocation,
  changes: Query,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const query = new URLSearchParams(location.query);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    const values = typeof value === 'string' ? [value] : (value ?? []);
    for (const each of values) if (each !== '') query.append(name, each);
  }
  const text = query.toString();
  const to = text === '' ? location.path : `${location.path}?${text}`;
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
