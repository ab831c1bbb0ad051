import { join } from 'node:path';
import { defineConfig } from 'vite';

/** Modules that the answer page and the console share. */
const CALLS =
  /src\/(api\/(call|contact)|model\/(answer-fields|summary|words)|protocol\/messages\/request)\.ts$/;

/** Modules that every page of the console uses. */
const SHARED =
  /node_modules\/(react|react-dom|scheduler|@tanstack\/(react-query|query-core))\/|src\/(api\/(live|overview|reads)|router|page-spec|parts\/(choice|dialog|icon|marks|notes|now|share-bar|stale|table|toast)|model\/statuses)\.tsx?$/;

// biome-ignore lint/style/noDefaultExport: Vite loads its configuration by its default export
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  build: {
    // The content security policy forbids inlined data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    outDir: join(import.meta.dirname, '../.cache/console'),
    emptyOutDir: true,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // One file compresses better than many small ones. The answer page needs none of it.
        codeSplitting: {
          groups: [
            { name: 'calls', test: CALLS, priority: 1 },
            { name: 'shared', test: SHARED },
          ],
        },
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic' } },
  // Hides warnings about 'use client' directives in packages, which have no effect here.
  logLevel: 'error',
});
