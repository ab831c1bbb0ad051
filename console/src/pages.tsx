// All pages, and the order in which they are offered. A page that is to come is one line here.

import { OPERATE_PAGES } from './operate-pages.tsx';
import type { PageSpec } from './page-spec.ts';
import { DeadLettersPage } from './pages/dead-letters.tsx';
import { ExecutionPage } from './pages/execution.tsx';
import { ExecutionsPage } from './pages/executions.tsx';
import { InboxPage } from './pages/inbox.tsx';
import { JobPage } from './pages/job.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { QuarantinePage } from './pages/quarantine.tsx';

export const PAGES: readonly PageSpec[] = [
  { path: /^\/$/, title: 'Overview', nav: '/', group: 'work', show: () => <OverviewPage /> },
  {
    path: /^\/executions$/,
    title: 'Executions',
    nav: '/executions',
    group: 'work',
    show: () => <ExecutionsPage />,
  },
  {
    path: /^\/executions\/([0-9a-f-]{36})$/,
    title: 'Execution',
    show: (id) => <ExecutionPage key={id} id={id} />,
  },
  { path: /^\/inbox$/, title: 'Inbox', nav: '/inbox', group: 'work', show: () => <InboxPage /> },
  {
    path: /^\/dead-letters$/,
    title: 'Dead letters',
    nav: '/dead-letters',
    group: 'repair',
    show: () => <DeadLettersPage />,
  },
  {
    path: /^\/quarantine$/,
    title: 'Quarantine',
    nav: '/quarantine',
    group: 'repair',
    show: () => <QuarantinePage />,
  },
  { path: /^\/jobs\/([0-9a-f-]{36})$/, title: 'Job', show: (id) => <JobPage key={id} id={id} /> },
  ...OPERATE_PAGES,
];
