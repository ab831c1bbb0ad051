// All pages, and the order in which they are offered. A page that is to come is one line here.

import type { ReactNode } from 'react';
import { AccessPage } from './pages/access.tsx';
import { ArchivePage } from './pages/archive.tsx';
import { ArchivedPage } from './pages/archived.tsx';
import { AuditPage } from './pages/audit.tsx';
import { DeadLettersPage } from './pages/dead-letters.tsx';
import { ExecutionPage } from './pages/execution.tsx';
import { ExecutionsPage } from './pages/executions.tsx';
import { InboxPage } from './pages/inbox.tsx';
import { JobPage } from './pages/job.tsx';
import { LinePage } from './pages/line.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { QuarantinePage } from './pages/quarantine.tsx';
import { ReleasesPage } from './pages/releases.tsx';
import { SchedulesPage } from './pages/schedules.tsx';
import { WorkersPage } from './pages/workers.tsx';

export interface PageSpec {
  readonly path: RegExp;
  readonly title: string;
  /** Where the navigation leads; without it, the page is reached from others. */
  readonly nav?: string;
  readonly group?: 'work' | 'repair' | 'operate';
  readonly show: (param: string) => ReactNode;
}

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
  {
    path: /^\/workers$/,
    title: 'Leases and workers',
    nav: '/workers',
    group: 'operate',
    show: () => <WorkersPage />,
  },
  {
    path: /^\/releases$/,
    title: 'Releases',
    nav: '/releases',
    group: 'operate',
    show: () => <ReleasesPage />,
  },
  {
    path: /^\/releases\/([^/]+)$/,
    title: 'Releases',
    show: (pipeline) => <LinePage key={pipeline} pipeline={decodeURIComponent(pipeline)} />,
  },
  {
    path: /^\/schedules$/,
    title: 'Schedules',
    nav: '/schedules',
    group: 'operate',
    show: () => <SchedulesPage />,
  },
  {
    path: /^\/archive$/,
    title: 'Archive',
    nav: '/archive',
    group: 'operate',
    show: () => <ArchivePage />,
  },
  {
    path: /^\/archive\/([0-9a-f-]{36})$/,
    title: 'Archived execution',
    show: (id) => <ArchivedPage key={id} id={id} />,
  },
  { path: /^\/audit$/, title: 'Audit', nav: '/audit', group: 'operate', show: () => <AuditPage /> },
  {
    path: /^\/access$/,
    title: 'Projects and keys',
    nav: '/access',
    group: 'operate',
    show: () => <AccessPage />,
  },
];
