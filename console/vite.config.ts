import { join } from 'node:path';
import { defineConfig } from 'vite';

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
  },
  oxc: { jsx: { runtime: 'automatic' } },
  // Hides warnings about 'use client' directives in packages, which have no effect here.
  logLevel: 'error',
});
