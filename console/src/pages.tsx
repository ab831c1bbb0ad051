// All pages, in the order of the navigation.

import { OPERATE_PAGES } from './operate-pages.tsx';
import { lazyPage, lazyPageOf, type PageSpec, READERS } from './page-spec.ts';

export const PAGES: readonly PageSpec[] = [
  {
    path: /^\/$/,
    ...{ title: 'Overview', nav: '/', icon: 'overview', group: 'work', allows: READERS },
    ...lazyPage(() => import('./pages/overview.tsx'), 'OverviewPage'),
  },
  {
    path: /^\/executions$/,
    ...{ title: 'Executions', nav: '/executions', icon: 'executions', group: 'work' },
    allows: READERS,
    ...lazyPage(() => import('./pages/executions.tsx'), 'ExecutionsPage'),
  },
  {
    path: /^\/executions\/([0-9a-f-]{36})$/,
    ...{ title: 'Execution', allows: READERS },
    ...lazyPageOf(() => import('./pages/execution.tsx'), 'ExecutionPage', 'id'),
  },
  {
    path: /^\/executions\/(key:[^/]+)$/,
    ...{ title: 'Execution', allows: READERS },
    ...lazyPageOf(() => import('./pages/execution.tsx'), 'KeyedExecutionPage', 'id'),
  },
  {
    path: /^\/inbox$/,
    ...{ title: 'Inbox', nav: '/inbox', icon: 'inbox', group: 'work', allows: READERS },
    ...lazyPage(() => import('./pages/inbox.tsx'), 'InboxPage'),
  },
  {
    path: /^\/dead-letters$/,
    ...{ title: 'Dead letters', nav: '/dead-letters', icon: 'dead-letters', group: 'repair' },
    allows: READERS,
    ...lazyPage(() => import('./pages/dead-letters.tsx'), 'DeadLettersPage'),
  },
  {
    path: /^\/quarantine$/,
    ...{ title: 'Quarantine', nav: '/quarantine', icon: 'quarantine', group: 'repair' },
    allows: READERS,
    ...lazyPage(() => import('./pages/quarantine.tsx'), 'QuarantinePage'),
  },
  {
    path: /^\/jobs$/,
    ...{ title: 'Jobs', nav: '/jobs', icon: 'jobs', group: 'repair', allows: ['operate'] },
    ...lazyPage(() => import('./pages/jobs.tsx'), 'JobsPage'),
  },
  {
    path: /^\/jobs\/([0-9a-f-]{36})$/,
    ...{ title: 'Job', allows: ['operate'] },
    ...lazyPageOf(() => import('./pages/job.tsx'), 'JobPage', 'id'),
  },
  ...OPERATE_PAGES,
];

export function pageAt(
  path: string,
): { readonly page: PageSpec; readonly match: RegExpExecArray } | undefined {
  for (const page of PAGES) {
    const match = page.path.exec(path);
    if (match !== null) return { page, match };
  }
  return undefined;
}
