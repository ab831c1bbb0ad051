import type { ReactNode } from 'react';

export interface PageSpec {
  readonly path: RegExp;
  readonly title: string;
  /** Where the navigation leads; without it, the page is reached from others. */
  readonly nav?: string;
  readonly group?: 'work' | 'repair' | 'operate';
  readonly show: (param: string) => ReactNode;
}
