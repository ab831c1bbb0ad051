import type { ReactNode } from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';

type Role = CallerMessage['roles'][number];

export interface PageSpec {
  readonly path: RegExp;
  readonly title: string;
  /** Where the navigation leads; without it, the page is reached from others. */
  readonly nav?: string;
  readonly group?: 'work' | 'repair' | 'operate';
  /** One of these roles is needed to see anything of it. */
  readonly allows: readonly Role[];
  readonly show: (param: string) => ReactNode;
}

/** Who looks at executions at all. */
export const READERS = ['submit', 'operate'] as const;

export function isAllowed({ allows }: PageSpec, roles: readonly Role[]): boolean {
  return allows.some((role) => roles.includes(role));
}
