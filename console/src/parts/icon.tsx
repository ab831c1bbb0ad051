// Icons of the navigation and of severities: one path each, drawn in the colour of the text.

import type { ReactNode } from 'react';

const PATHS = {
  overview: 'M2 9h4v5H2zM7 2h4v12H7zM12 6h2v8h-2z',
  executions: 'M3 4h10M3 8h7M3 12h10',
  inbox: 'M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4',
  'dead-letters': 'M2 4h12v8H2zM2 4l6 5 6-5M11 10l3 3m0-3l-3 3',
  quarantine: 'M8 2l6 6-6 6-6-6zM8 5v4m0 2v.01',
  jobs: 'M4 3h9v10M3 5h8v8H3zM5 9l2 2 3-3',
  workers: 'M3 3h10v4H3zM3 9h10v4H3zM5 5h.01M5 11h.01',
  leases: 'M6 6a3 3 0 1 1 2 3l-1 1v2H5v2H2v-3l4-4',
  releases: 'M8 2l6 3v6l-6 3-6-3V5zM2 5l6 3 6-3M8 8v6',
  schedules: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 5v3l2 2',
  channels: 'M3 6v4h2l5 3V3L5 6zM12 5v6M14 4v8',
  archive: 'M2 3h12v3H2zM3 6v7h10V6M6 9h4',
  audit: 'M4 2h6l3 3v9H4zM6 7h5M6 10h5',
  access: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 14c1-4 11-4 12 0',
  search: 'M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM11 11l3 3',
  menu: 'M2 4h12M2 8h12M2 12h12',
  warning: 'M8 2l6 12H2zM8 6v4m0 2v.01',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
