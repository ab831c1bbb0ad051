import { type ComponentType, createElement, lazy, type ReactNode } from 'react';
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
}

/** Roles that can read executions. */
export const READERS = ['submit', 'operate'] as const;

export function isAllowed({ allows }: PageSpec, roles: readonly Role[]): boolean {
  return allows.some((role) => roles.includes(role));
}

/** A page whose code is loaded when it is first opened. */
export function lazyPage<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): () => ReactNode {
  const Page = lazy(async () => ({ default: (await load())[name] }));
  return () => createElement(Page);
}

/** The same, for a page of one resource. Another resource gets a new component. */
export function lazyPageOf<Param extends string, Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType<Readonly<Record<Param, string>>>>>>,
  name: Name,
  param: Param,
): (value: string) => ReactNode {
  const Page = lazy(async () => ({ default: (await load())[name] })) as unknown as ComponentType<
    Record<string, string>
  >;
  return (value) => {
    const text = decodeURIComponent(value);
    return createElement(Page, { key: text, [param]: text });
  };
}
