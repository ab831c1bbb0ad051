// The package contains every file that its pages link to.

import assert from 'node:assert/strict';
import { join } from 'node:path/posix';
import { test } from 'node:test';
import { projectPaths, readProjectFile } from './project-files.ts';

const { files }: { files: readonly string[] } = JSON.parse(readProjectFile('package.json'));

function isShipped(path: string): boolean {
  const isIn = (entry: string): boolean => path === entry || path.startsWith(`${entry}/`);
  return (
    files.some(isIn) && !files.some((entry) => isIn(entry.replace(/^!/, '')) && entry[0] === '!')
  );
}

/** Relative targets of Markdown links, from the repository's root. */
function targetsOf(page: string): readonly string[] {
  const found = [...readProjectFile(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)];
  const links = found.map((match) => match[1] ?? '').filter((link) => !/^[a-z]+:/.test(link));
  return links.map((link) => join(page, '..', link).replace(/\/$/, ''));
}

/** The repository and the site have these. They would make the package larger than 8 MB. */
const LEFT_OUT = /^docs\/(bugs\.md|adr\/|images\/)/;

test('files that the README and the guide link to are shipped', () => {
  const pages = [
    'README.md',
    ...projectPaths('docs/{start,guides,concepts,operate,compare,guide}/**/*.md'),
  ];
  const dead = pages.flatMap((page) =>
    targetsOf(page)
      .filter((target) => !isShipped(target) && !LEFT_OUT.test(target))
      .map((target) => `${page} → ${target}`),
  );
  assert.deepEqual(dead, []);
});
