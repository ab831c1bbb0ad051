// Pages for operators and admins.

import { type PageSpec, READERS } from './page-spec.ts';
import { AccessPage } from './pages/access.tsx';
import { ArchivePage } from './pages/archive.tsx';
import { ArchivedPage } from './pages/archived.tsx';
import { AuditPage } from './pages/audit.tsx';
import { DemoCodePage } from './pages/demo-code.tsx';
import { ReleasesPage } from './pages/releases.tsx';
import { RolloutPage } from './pages/rollout.tsx';
import { SchedulesPage } from './pages/schedules.tsx';
import { WorkersPage } from './pages/workers.tsx';

export const OPERATE_PAGES: readonly PageSpec[] = [
  {
    path: /^\/demo\/code$/,
    title: 'Demo source',
    allows: ['operate'],
    show: () => <DemoCodePage />,
  },
  {
    path: /^\/workers$/,
    title: 'Leases and workers',
    nav: '/workers',
    group: 'operate',
    allows: ['operate'],
    show: () => <WorkersPage />,
  },
  {
    path: /^\/releases$/,
    title: 'Releases',
    nav: '/releases',
    group: 'operate',
    allows: [...READERS, 'admin'],
    show: () => <ReleasesPage />,
  },
  {
    path: /^\/releases\/([^/]+)$/,
    title: 'Releases',
    allows: [...READERS, 'admin'],
    show: (pipeline) => <RolloutPage key={pipeline} pipeline={decodeURIComponent(pipeline)} />,
  },
  {
    path: /^\/schedules$/,
    title: 'Schedules',
    nav: '/schedules',
    group: 'operate',
    allows: READERS,
    show: () => <SchedulesPage />,
  },
  {
    path: /^\/archive$/,
    title: 'Archive',
    nav: '/archive',
    group: 'operate',
    allows: READERS,
    show: () => <ArchivePage />,
  },
  {
    path: /^\/archive\/([0-9a-f-]{36})$/,
    title: 'Archived execution',
    allows: READERS,
    show: (id) => <ArchivedPage key={id} id={id} />,
  },
  {
    path: /^\/audit$/,
    title: 'Audit log',
    nav: '/audit',
    group: 'operate',
    allows: ['operate'],
    show: () => <AuditPage />,
  },
  {
    path: /^\/access$/,
    title: 'Projects & API keys',
    nav: '/access',
    group: 'operate',
    allows: ['admin'],
    show: () => <AccessPage />,
  },
];
