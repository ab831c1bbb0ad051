import { join } from 'node:path';
import { defineConfig } from 'vite';

// biome-ignore lint/style/noDefaultExport: Vite loads its configuration by its default export
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  // A data: address would need a hole in the content security policy.
  build: {
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    outDir: join(import.meta.dirname, '../.cache/console'),
    emptyOutDir: true,
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: 'automatic' } },
  // Warnings are about directives of packages, which have no meaning here.
  logLevel: 'error',
});
