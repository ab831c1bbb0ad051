import type { ReactNode } from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';

type Role = CallerMessage['roles'][number];

export interface PageSpec {
  readonly path: RegExp;
  readonly title: string;
  /** The link in the navigation; without it, only other pages link here. */
  readonly nav?: string;
  readonly group?: 'work' | 'repair' | 'operate';
  /** The key needs one of these roles. */
  readonly allows: readonly Role[];
  readonly show: (param: string) => ReactNode;
}

/** Roles that can read executions. */
export const READERS = ['submit', 'operate'] as const;

export function isAllowed({ allows }: PageSpec, roles: readonly Role[]): boolean {
  return allows.some((role) => roles.includes(role));
}
