// Pages for operators and admins.

import { lazyPage, lazyPageOf, type PageSpec, READERS } from './page-spec.ts';

export const OPERATE_PAGES: readonly PageSpec[] = [
  {
    path: /^\/demo\/code$/,
    ...{ title: 'Demo source', allows: ['operate'] },
    ...lazyPage(() => import('./pages/demo-code.tsx'), 'DemoCodePage'),
  },
  {
    path: /^\/workers$/,
    ...{ title: 'Workers', nav: '/workers', icon: 'workers', group: 'operate' },
    allows: ['operate'],
    ...lazyPage(() => import('./pages/workers.tsx'), 'WorkersPage'),
  },
  {
    path: /^\/leases$/,
    ...{ title: 'Leases', nav: '/leases', icon: 'leases', group: 'operate', allows: ['operate'] },
    ...lazyPage(() => import('./pages/leases.tsx'), 'LeasesPage'),
  },
  {
    path: /^\/leases\/ttl$/,
    ...{ title: 'TTL advisor', allows: ['operate'] },
    ...lazyPage(() => import('./pages/advice.tsx'), 'AdvicePage'),
  },
  {
    path: /^\/releases$/,
    ...{ title: 'Releases', nav: '/releases', icon: 'releases', group: 'operate' },
    allows: [...READERS, 'admin'],
    ...lazyPage(() => import('./pages/releases.tsx'), 'ReleasesPage'),
  },
  {
    path: /^\/releases\/([^/]+)$/,
    ...{ title: 'Releases', allows: [...READERS, 'admin'] },
    ...lazyPageOf(() => import('./pages/rollout.tsx'), 'RolloutPage', 'pipeline'),
  },
  {
    path: /^\/schedules$/,
    ...{ title: 'Schedules', nav: '/schedules', icon: 'schedules', group: 'operate' },
    allows: READERS,
    ...lazyPage(() => import('./pages/schedules.tsx'), 'SchedulesPage'),
  },
  {
    path: /^\/channels$/,
    ...{ title: 'Channels', nav: '/channels', icon: 'channels', group: 'operate' },
    allows: ['operate'],
    ...lazyPage(() => import('./pages/channels.tsx'), 'ChannelsPage'),
  },
  {
    path: /^\/channels\/([a-z0-9-]+)$/,
    ...{ title: 'Channel', allows: ['operate'] },
    ...lazyPageOf(() => import('./pages/channel.tsx'), 'ChannelPage', 'id'),
  },
  {
    path: /^\/archive$/,
    ...{ title: 'Archive', nav: '/archive', icon: 'archive', group: 'operate', allows: READERS },
    ...lazyPage(() => import('./pages/archive.tsx'), 'ArchivePage'),
  },
  {
    path: /^\/archive\/([0-9a-f-]{36})$/,
    ...{ title: 'Archived execution', allows: READERS },
    ...lazyPageOf(() => import('./pages/archived.tsx'), 'ArchivedPage', 'id'),
  },
  {
    path: /^\/audit$/,
    ...{ title: 'Audit log', nav: '/audit', icon: 'audit', group: 'settings' },
    allows: ['operate'],
    ...lazyPage(() => import('./pages/audit.tsx'), 'AuditPage'),
  },
  {
    path: /^\/access$/,
    ...{ title: 'Projects & API keys', nav: '/access', icon: 'access', group: 'settings' },
    allows: ['admin'],
    ...lazyPage(() => import('./pages/access.tsx'), 'AccessPage'),
  },
];
