// Pages for operators and admins.

import { lazyPage, lazyPageOf, type PageSpec, READERS } from './page-spec.ts';

export const OPERATE_PAGES: readonly PageSpec[] = [
  {
    path: /^\/demo\/code$/,
    ...{ title: 'Demo source', allows: ['operate'] },
    show: lazyPage(() => import('./pages/demo-code.tsx'), 'DemoCodePage'),
  },
  {
    path: /^\/workers$/,
    ...{ title: 'Workers', nav: '/workers', icon: 'workers', group: 'operate' },
    allows: ['operate'],
    show: lazyPage(() => import('./pages/workers.tsx'), 'WorkersPage'),
  },
  {
    path: /^\/leases$/,
    ...{ title: 'Leases', nav: '/leases', icon: 'leases', group: 'operate', allows: ['operate'] },
    show: lazyPage(() => import('./pages/leases.tsx'), 'LeasesPage'),
  },
  {
    path: /^\/leases\/ttl$/,
    ...{ title: 'TTL advisor', allows: ['operate'] },
    show: lazyPage(() => import('./pages/advice.tsx'), 'AdvicePage'),
  },
  {
    path: /^\/releases$/,
    ...{ title: 'Releases', nav: '/releases', icon: 'releases', group: 'operate' },
    allows: [...READERS, 'admin'],
    show: lazyPage(() => import('./pages/releases.tsx'), 'ReleasesPage'),
  },
  {
    path: /^\/releases\/([^/]+)$/,
    ...{ title: 'Releases', allows: [...READERS, 'admin'] },
    show: lazyPageOf(() => import('./pages/rollout.tsx'), 'RolloutPage', 'pipeline'),
  },
  {
    path: /^\/schedules$/,
    ...{ title: 'Schedules', nav: '/schedules', icon: 'schedules', group: 'operate' },
    allows: READERS,
    show: lazyPage(() => import('./pages/schedules.tsx'), 'SchedulesPage'),
  },
  {
    path: /^\/archive$/,
    ...{ title: 'Archive', nav: '/archive', icon: 'archive', group: 'operate', allows: READERS },
    show: lazyPage(() => import('./pages/archive.tsx'), 'ArchivePage'),
  },
  {
    path: /^\/archive\/([0-9a-f-]{36})$/,
    ...{ title: 'Archived execution', allows: READERS },
    show: lazyPageOf(() => import('./pages/archived.tsx'), 'ArchivedPage', 'id'),
  },
  {
    path: /^\/audit$/,
    ...{ title: 'Audit log', nav: '/audit', icon: 'audit', group: 'settings' },
    allows: ['operate'],
    show: lazyPage(() => import('./pages/audit.tsx'), 'AuditPage'),
  },
  {
    path: /^\/access$/,
    ...{ title: 'Projects & API keys', nav: '/access', icon: 'access', group: 'settings' },
    allows: ['admin'],
    show: lazyPage(() => import('./pages/access.tsx'), 'AccessPage'),
  },
];
