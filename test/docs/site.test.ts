import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { deadLinks } from '../../scripts/site/dead-links.ts';
import { siteLinks } from '../../scripts/site/links.ts';
import { llmsFull, llmsList, TEMPLATE } from '../../scripts/site/llms.ts';
import { pageOf, type Section, sectionsOf } from '../../scripts/site/sections.ts';
import { navigationOf } from '../../scripts/site/stage.ts';

test('links between files become links between pages', () => {
  const page = { source: 'docs/guides/steps.md', path: 'guides/steps.md' };
  const paths = new Map([
    ['docs/spec/lease.md', 'internals/spec/lease.md'],
    ['docs/guides/README.md', 'guides/index.md'],
    ['docs/images/a.png', 'images/a.png'],
  ]);
  const linked = (text: string): string => siteLinks(text, page, (source) => paths.get(source));
  assert.equal(
    linked('[a](../spec/lease.md#x)'),
    '[a](./../internals/spec/lease.md#x)'.replace('./', ''),
  );
  assert.equal(linked('[`a`\nb](README.md)'), '[`a`\nb](./index.md)');
  assert.equal(linked('![a](../images/a.png)'), '![a](../images/a.png)');
  assert.equal(linked('See [`open`](../../src/index.ts).'), 'See `open`.');
  const unchanged = '[a](#b) [c](https://example.com) `[d](e.md)`\n\n```\n[f](g.md)\n```\n';
  assert.equal(linked(unchanged), unchanged);
});

test('a page has the title, order and group of its front matter', () => {
  const file = { source: 'docs/guides/a.md', path: 'guides/a.md' };
  const text = '---\ntitle: "Run: steps"\norder: 20\ngroup: Steps\n---\n\n# Steps\n';
  const { title, order, group } = pageOf({ ...file, text });
  assert.deepEqual({ title, order, group }, { title: 'Run: steps', order: 20, group: 'Steps' });
  assert.equal(pageOf({ ...file, text: '# `Steps`\n' }).title, 'Steps');
  assert.throws(() => pageOf({ ...file, text: 'Steps\n' }), /docs\/guides\/a\.md has no heading/);
});

test('the sidebar keeps the pages of a group together', () => {
  const page = (name: string, front: string) =>
    pageOf({ source: name, path: `guides/${name}.md`, text: `---\n${front}\n---\n# ${name}\n` });
  const pages = [
    page('index', 'order: 1'),
    page('a', 'group: G'),
    page('b', ''),
    page('c', 'group: G'),
  ];
  const section: Section = { name: 'guides', title: 'Guides', about: '', pages };
  const items = navigationOf([section]).sidebar['/guides/']?.[0]?.items ?? [];
  assert.deepEqual(
    items.map(
      ({ text, link, items: inner }) => link ?? [text, ...(inner ?? []).map((each) => each.link)],
    ),
    ['/guides/', ['G', '/guides/a', '/guides/c'], '/guides/b'],
  );
});

test('every page of the site has a place, and llms.txt lists it, except the template', () => {
  const sections = sectionsOf();
  const paths = sections.flatMap(({ pages }) => pages.map(({ path }) => path));
  assert.equal(new Set(paths).size, paths.length);
  assert.ok(paths.includes('internals/architecture.md'));
  const list = llmsList(sections, '/docs/');
  const unlisted = paths.filter(
    (path) => !list.includes(`(/docs/${path.replace('.md', '.html')})`),
  );
  assert.deepEqual(unlisted, [TEMPLATE]);
  assert.doesNotMatch(list, /: \*(?!\*)/, 'a status or date in place of a description');
  assert.doesNotMatch(llmsFull(sections), /^---\ntitle:/m);
});

test('dead links of the built site are found', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-site-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'a'));
  writeFileSync(join(folder, 'index.html'), '<a href="/docs/a/b.html#x">b</a> <i id="y"></i>');
  writeFileSync(join(folder, 'a/b.html'), '<h2 id="x"></h2> <a href="../index.html#y">a</a>');
  assert.deepEqual(deadLinks(folder, '/docs/'), []);
  const bad = '<a href="/docs/c.html">c</a> <a href="#z">z</a> <a href="/elsewhere">e</a>';
  writeFileSync(join(folder, 'a/b.html'), `<h2 id="x"></h2> ${bad}`);
  assert.deepEqual(deadLinks(folder, '/docs/'), [
    'a/b.html: /docs/c.html leads to no file',
    'a/b.html: #z leads to no heading',
    'a/b.html: /elsewhere leads to no file',
  ]);
});
