// All pages, in the order of the navigation.

import { OPERATE_PAGES } from './operate-pages.tsx';
import { type PageSpec, READERS } from './page-spec.ts';
import { DeadLettersPage } from './pages/dead-letters.tsx';
import { ExecutionPage } from './pages/execution.tsx';
import { ExecutionsPage } from './pages/executions.tsx';
import { InboxPage } from './pages/inbox.tsx';
import { JobPage } from './pages/job.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { QuarantinePage } from './pages/quarantine.tsx';

export const PAGES: readonly PageSpec[] = [
  {
    path: /^\/$/,
    title: 'Overview',
    nav: '/',
    group: 'work',
    allows: READERS,
    show: () => <OverviewPage />,
  },
  {
    path: /^\/executions$/,
    title: 'Executions',
    nav: '/executions',
    group: 'work',
    allows: READERS,
    show: () => <ExecutionsPage />,
  },
  {
    path: /^\/executions\/([0-9a-f-]{36})$/,
    title: 'Execution',
    allows: READERS,
    show: (id) => <ExecutionPage key={id} id={id} />,
  },
  {
    path: /^\/inbox$/,
    title: 'Inbox',
    nav: '/inbox',
    group: 'work',
    allows: READERS,
    show: () => <InboxPage />,
  },
  {
    path: /^\/dead-letters$/,
    title: 'Dead letters',
    nav: '/dead-letters',
    group: 'repair',
    allows: READERS,
    show: () => <DeadLettersPage />,
  },
  {
    path: /^\/quarantine$/,
    title: 'Quarantine',
    nav: '/quarantine',
    group: 'repair',
    allows: READERS,
    show: () => <QuarantinePage />,
  },
  {
    path: /^\/jobs\/([0-9a-f-]{36})$/,
    title: 'Job',
    allows: ['operate'],
    show: (id) => <JobPage key={id} id={id} />,
  },
  ...OPERATE_PAGES,
];
