import { type ComponentType, createElement, lazy, type ReactNode, useState } from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';
import type { IconName } from './parts/icon.tsx';

type Role = CallerMessage['roles'][number];

export interface PageSpec {
  readonly path: RegExp;
  readonly title: string;
  /** The link in the navigation; without it, only other pages link here. */
  readonly nav?: string;
  readonly icon?: IconName;
  readonly group?: 'work' | 'repair' | 'operate' | 'settings';
  /** The key needs one of these roles. */
  readonly allows: readonly Role[];
  readonly show: (param: string) => ReactNode;
  /** Loads its code. */
  readonly load: () => Promise<unknown>;
}

/** Roles that can read executions. */
export const READERS = ['submit', 'operate'] as const;

export function isAllowed({ allows }: PageSpec, roles: readonly Role[]): boolean {
  return allows.some((role) => roles.includes(role));
}

/**
 * Loads the component once. A page that is loaded before it is shown does not suspend: after a
 * fallback, React waits 300 ms before it shows the content.
 */
function loadedOnce<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): Pick<PageSpec, 'load'> & { readonly Page: ComponentType<Props> } {
  let known: ComponentType<Props> | undefined;
  const read = async (): Promise<{ readonly default: ComponentType<Props> }> => {
    known ??= await load();
    return { default: known };
  };
  const Later = lazy(read) as unknown as ComponentType<Props>;
  return {
    Page: function Page(props) {
      const [Shown] = useState(() => known ?? Later);
      return createElement(Shown, props);
    },
    load: read,
  };
}

type Shown = Pick<PageSpec, 'show' | 'load'>;

/** A page whose code is loaded when it is needed. */
export function lazyPage<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): Shown {
  const { Page, load: read } = loadedOnce(async () => (await load())[name]);
  return { show: () => createElement(Page), load: read };
}

/** The same, for a page of one resource. Another resource gets a new component. */
export function lazyPageOf<Param extends string, Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType<Readonly<Record<Param, string>>>>>>,
  name: Name,
  param: Param,
): Shown {
  const { Page, load: read } = loadedOnce(
    async () => (await load())[name] as ComponentType<Record<string, string>>,
  );
  return {
    show: (value) => {
      const text = decodeURIComponent(value);
      return createElement(Page, { key: text, [param]: text });
    },
    load: read,
  };
}
