// The generated pages are those that the code renders, and the references name every export, route, flag, setting, code,
// event and metric.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { committedPages, type Pages } from '../../scripts/reference/pages.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { STATUSES } from '../../src/execution/execution.ts';
import { EVENT_KINDS } from '../../src/execution/history.ts';
import { AUDIT_ACTIONS } from '../../src/features/audit/model.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { SETTINGS } from '../../src/server/config.ts';
import { CODE_GROUPS } from '../../src/support/codes/catalogue.ts';
import { projectFiles, readProjectFile } from './project-files.ts';
import { type PublicExport, publicApi } from './public-api.ts';

let api: readonly PublicExport[] = [];
let pages: Pages = {};

before(async () => {
  api = publicApi();
  pages = await committedPages(api);
});

function missingFrom(page: string, names: readonly string[]): readonly string[] {
  const text = pages[`docs/reference/${page}.md`] ?? '';
  assert.ok(names.length > 0);
  return names.filter((name) => !text.includes(`\`${name}\``));
}

test('every generated page is what the code renders; npm run reference', () => {
  const stale = Object.entries(pages).filter(([path, text]) => readProjectFile(path) !== text);
  assert.deepEqual(
    stale.map(([path]) => path),
    [],
  );
});

test('the references name every export, route, code, event and setting', () => {
  const routes = ROUTES.map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  const codes = Object.values(CODE_GROUPS).flatMap((group) => Object.keys(group));
  const settings = SETTINGS.flatMap(({ name, flag, variable }) => [name, `--${flag}`, variable]);
  assert.deepEqual(
    missingFrom(
      'typescript',
      api.map(({ name }) => name),
    ),
    [],
  );
  assert.deepEqual(missingFrom('rest', routes), []);
  assert.deepEqual(missingFrom('errors', codes), []);
  assert.deepEqual(missingFrom('events', [...EVENT_KINDS, ...STATUSES, ...AUDIT_ACTIONS]), []);
  assert.deepEqual(missingFrom('configuration', settings), []);
});

test('the reference of the command line has every command and flag', async () => {
  const text = pages['docs/reference/cli.md'] ?? '';
  const sections = new Map(
    text.split(/^### /m).map((part) => [/^`holdfast (\S+)`/.exec(part)?.[1] ?? '', part]),
  );
  for (const command of COMMANDS) {
    const section = sections.get(command.name) ?? '';
    const { flags } = await command.load();
    const isSetting = (flag: string) => SETTINGS.some((each) => each.flag === flag);
    const missing = Object.keys(flags).filter(
      (flag) =>
        !new RegExp(`^\\| \`--${flag}[ \`]`, 'm').test(section) &&
        !(isSetting(flag) && section.includes('configuration.md')),
    );
    assert.deepEqual(missing, [], command.name);
    for (const example of command.examples) assert.ok(section.includes(example), example);
  }
});

test('the reference of metrics has every name that a source registers', () => {
  const sources = projectFiles('src/{observe,server}/**/*.ts').filter(
    ({ path }) => !path.endsWith('.test.ts'),
  );
  const found = sources.flatMap(({ text }) =>
    [...text.matchAll(/(?:name: |counter\(|gauge\(|^ {2})'?(holdfast_[a-z_]+)\b'?/gm)].map(
      ([, name = '']) => name,
    ),
  );
  assert.deepEqual(missingFrom('metrics', found), []);
});
