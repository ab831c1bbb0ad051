// Every page: it loads, it is readable in both themes, narrow and wide, and it looks like this.

import { sample } from '../../services/tier.ts';
import type { BrowserCase, Scene } from './register.ts';
import type { World } from './world.ts';

interface PageUnderTest {
  readonly name: string;
  readonly heading: string;
  readonly path: (world: World) => string;
  /** Content that is there only after the page has loaded it. */
  readonly shows: string | RegExp;
}

const PAGES: readonly PageUnderTest[] = [
  { name: 'overview', heading: 'Overview', path: () => '/', shows: 'Healthy' },
  { name: 'executions', heading: 'Executions', path: () => '/executions', shows: 'quarantined' },
  {
    name: 'execution',
    heading: 'order',
    path: ({ compensated }) => `/executions/${compensated}`,
    shows: /Compensated at/,
  },
  {
    name: 'checkout',
    heading: 'checkout',
    path: ({ checkout }) => `/executions/${checkout}?event=27`,
    shows: 'not run',
  },
  {
    name: 'taken-over',
    heading: 'slow',
    path: ({ takenOver }) => `/executions/${takenOver}`,
    shows: 'Taken over',
  },
  { name: 'inbox', heading: 'Inbox', path: () => '/inbox', shows: '"boots"' },
  { name: 'dead-letters', heading: 'Dead letters', path: () => '/dead-letters', shows: 'declined' },
  {
    name: 'quarantine',
    heading: 'Quarantine',
    path: () => '/quarantine',
    shows: /A compensation failed for good/,
  },
  {
    name: 'workers',
    heading: 'Workers',
    path: () => '/workers',
    shows: 'frozen@host-2',
  },
  {
    name: 'leases',
    heading: 'Leases',
    path: () => '/leases',
    shows: /\d+ leases?|No leases yet/,
  },
  {
    name: 'ttl-advisor',
    heading: 'TTL advisor',
    path: () => '/leases/ttl',
    shows: 'Recommendation',
  },
  { name: 'jobs', heading: 'Jobs', path: () => '/jobs', shows: 'No jobs' },
  { name: 'releases', heading: 'Releases', path: () => '/releases', shows: 'parcel' },
  {
    name: 'rollout',
    heading: 'parcel',
    path: () => '/releases/parcel?release=v3',
    shows: '2 of 2 open executions checked: 2 would break.',
  },
  { name: 'schedules', heading: 'Schedules', path: () => '/schedules', shows: 'nightly' },
  { name: 'archive', heading: 'Archive', path: () => '/archive', shows: 'Invoice-4711 Bern' },
  {
    name: 'archived',
    heading: 'invoice',
    path: ({ archived }) => `/archive/${archived}`,
    shows: 'invoice: completed',
  },
  { name: 'audit', heading: 'Audit log', path: () => '/audit', shows: 'a test' },
  { name: 'access', heading: 'Projects & API keys', path: () => '/access', shows: 'first key' },
];

const THEMES = sample('themes of the console', ['light', 'dark'] as const, 1);

async function look({ driver, world }: Scene, each: PageUnderTest): Promise<void> {
  await driver.theme('light');
  await driver.open(each.path(world), each.heading);
  await driver.page.getByText(each.shows).first().waitFor();
  await driver.checkStill(each.name);
  await driver.checkTables(each.name);
  for (const theme of THEMES) {
    await driver.theme(theme);
    await driver.checkAccess(`${each.name}, ${theme}`);
    await driver.shoot(`${each.name}-${theme}`);
  }
  await driver.checkWidth(390, each.name);
  await driver.checkWidth(2_560);
}

export const PAGE_CASES: readonly BrowserCase[] = PAGES.map((each) => ({
  name: `${each.name}: loads, readable in both themes, narrow and wide`,
  run: (scene) => look(scene, each),
}));
