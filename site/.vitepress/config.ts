// The site generator's configuration. scripts/site prepares the pages and the navigation.

import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { slugOf } from '../../scripts/site/slug.ts';
import type { Navigation } from '../../scripts/site/stage.ts';

const FOLDER = '../.cache/site';
const { nav, sidebar }: Navigation = JSON.parse(
  readFileSync(new URL(`../${FOLDER}/navigation.json`, import.meta.url), 'utf8'),
);

// biome-ignore lint/style/noDefaultExport: VitePress loads its configuration by its default export
export default defineConfig({
  title: 'Holdfast',
  description: 'Durable work on fenced leases: library, engine and coordinator.',
  lang: 'en',
  base: '/docs/',
  srcDir: `${FOLDER}/pages`,
  outDir: `${FOLDER}/built`,
  cacheDir: `${FOLDER}/cache`,
  metaChunk: true,
  // No icon: a browser would ask for one at the root of the host.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: { anchor: { slugify: slugOf }, theme: { light: 'github-light', dark: 'github-dark' } },
  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
  vite: { build: { chunkSizeWarningLimit: 4_000, reportCompressedSize: false } },
});
