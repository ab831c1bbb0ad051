import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stopRequested } from '../../src/support/stop-requested.ts';
import { bundledLicenses } from '../console/licenses.ts';
import { type Pages, sitePages } from '../reference/pages.ts';
import { deadLinks } from './dead-links.ts';
import { llmsFull, llmsList } from './llms.ts';
import { sectionsOf } from './sections.ts';
import { clear, stage } from './stage.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, '.cache/site');
const BUILT = join(FOLDER, 'built');
const GENERATOR = join(ROOT, 'node_modules/vitepress/bin/vitepress.js');
const WATCHED = ['docs', 'site', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];

/** The path at which the coordinator serves the site. All its links begin with this. */
export const BASE = '/docs/';

/** Matches warnings in the output of the generator. */
const WARNING = /\bwarn|\(!\)|falling back|deprecat/i;

/** Builds the site and returns its folder. Throws on a warning or a dead link. */
export async function buildSite(log: (line: string) => void): Promise<string> {
  const startedAt = performance.now();
  clear(FOLDER);
  const sections = sectionsOf(sitePages());
  stage(sections, FOLDER);
  const output = await runGenerator('build');
  const warnings = output.split('\n').filter((line) => WARNING.test(line));
  if (warnings.length > 0) throw new Error(`The generator warned:\n${warnings.join('\n')}`);
  writeFileSync(join(BUILT, 'licenses.txt'), bundledLicenses('site'));
  writeFileSync(join(BUILT, 'llms.txt'), llmsList(sections, BASE));
  writeFileSync(join(BUILT, 'llms-full.txt'), llmsFull(sections));
  const dead = deadLinks(BUILT, BASE);
  if (dead.length > 0) throw new Error(`The site has dead links:\n${dead.join('\n')}`);
  const files = globSync('**/*.html', { cwd: BUILT }).length;
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  log(`• ${files} pages in .cache/site/built (${seconds} s)`);
  return BUILT;
}

async function runGenerator(command: string): Promise<string> {
  const child = spawn(process.execPath, [generator(), command, 'site'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  const [out, errors] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    child.exitCode === null ? once(child, 'exit') : undefined,
  ]);
  if (child.exitCode !== 0) throw new Error(`The site was not built.\n${out}\n${errors}`);
  return `${out}\n${errors}`;
}

/** Stages the pages again after each edit, so that the generator's server shows it. */
export async function serveSite(args: readonly string[]): Promise<void> {
  clear(FOLDER);
  const generated = sitePages();
  stage(sectionsOf(generated), FOLDER);
  const child = spawn(process.execPath, [generator(), 'dev', 'site', ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  let timer: NodeJS.Timeout | undefined;
  const watchers = WATCHED.map((path) =>
    watch(join(ROOT, path), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => restage(generated), 100);
    }),
  );
  void stopRequested().then(() => child.kill());
  await once(child, 'exit');
  for (const watcher of watchers) watcher.close();
}

/** Reports errors and continues: an unfinished page may have no heading yet. */
function restage(generated: Pages): void {
  try {
    stage(sectionsOf(generated), FOLDER);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
}

function generator(): string {
  if (!existsSync(GENERATOR)) throw new Error('The site generator is missing. Run `npm ci` first.');
  return GENERATOR;
}
