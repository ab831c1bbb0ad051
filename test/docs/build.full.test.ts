// The site builds without warnings and dead links, loads nothing from other hosts, and a coordinator serves it.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { provideSite } from '../../scripts/site/provide.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { startChromium } from '../services/chromium.ts';

const BUILT = join(import.meta.dirname, '../../.cache/site/built');
const LARGEST_BYTES = 2 * 1024 ** 2;

test('the site builds, offline, and a coordinator serves it', { timeout: 300_000 }, async (t) => {
  const packed = readFileSync(await provideSite(() => undefined));
  assert.ok(packed.length < LARGEST_BYTES, `the packed site has ${packed.length} bytes`);
  const store = openMemoryStore();
  t.after(() => store.close());
  await using server = await openServer({ store, auth: 'off', port: 0, docs: true });
  const page = await fetch(`${server.url}/docs/internals/architecture.html`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /text\/html/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const html = await page.text();
  const assets = [...html.matchAll(/\s(?:src|href)="(\/docs\/assets\/[^"]+)"/g)];
  assert.ok(assets.length > 0);
  for (const [, path] of assets) {
    assert.equal((await fetch(`${server.url}${path}`)).status, 200, path);
  }
  const etag = page.headers.get('etag') ?? '';
  const again = await fetch(page.url, { headers: { 'if-none-match': etag } });
  assert.equal(again.status, 304);
  assert.equal((await fetch(page.url, { method: 'HEAD' })).status, 200);
  assert.equal((await fetch(`${server.url}/docs`)).url, `${server.url}/docs/`);
  assert.match(await (await fetch(`${server.url}/docs/llms.txt`)).text(), /^# Holdfast\n/);
  const short = await fetch(`${server.url}/docs/start/five-minutes`);
  assert.equal(short.status, 200);
  assert.match(short.headers.get('content-type') ?? '', /text\/html/);
  const absent = await fetch(`${server.url}/docs/nope.html`);
  assert.equal(absent.status, 404);
  assert.equal(((await absent.json()) as { code: string }).code, 'not-found');
});

test('no page of the site loads anything from another host', async () => {
  await provideSite(() => undefined);
  const files = globSync('**/*.{html,css}', { cwd: BUILT });
  assert.ok(files.length > 100);
  const loaded = files.flatMap((file) => {
    const text = readFileSync(join(BUILT, file), 'utf8');
    const found = text.match(
      /<(?:script|link|img|iframe)[^>]+(?:src|href)="https?:[^"]+"|url\(["']?https?:/g,
    );
    return (found ?? []).map((each) => `${file}: ${each}`);
  });
  assert.deepEqual(loaded, []);
});

test('search, the dark theme and copy buttons work, and the browser refuses nothing', async (t) => {
  await provideSite(() => undefined);
  const store = openMemoryStore();
  t.after(() => store.close());
  await using server = await openServer({ store, auth: 'off', port: 0, docs: true });
  const { context, stop } = await startChromium();
  t.after(stop);
  const problems: string[] = [];
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith('data:')) problems.push(url);
  });
  await page.goto(`${server.url}/docs/reference/cli.html`);
  await page.getByRole('switch').first().click();
  await page.waitForSelector('html.dark');
  await page.hover('div[class*="language-"]');
  await page.locator('div[class*="language-"] button.copy').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.fill('.VPLocalSearchBox input', 'raise-epoch');
  await page.locator('.VPLocalSearchBox .result').first().click();
  await page.waitForURL(/raise-epoch/);
  assert.deepEqual(problems, []);
});

test('a coordinator serves the documentation only where it is asked to', async (t) => {
  const store = openMemoryStore();
  t.after(() => store.close());
  await using server = await openServer({ store, auth: 'off', port: 0 });
  assert.equal((await fetch(`${server.url}/docs/`)).status, 404);
});
