import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Packages in the built console. Their licenses must accompany it. */
const CONSOLE: readonly string[] = [
  ...['react', 'react-dom', 'scheduler'],
  ...['@tanstack/react-query', '@tanstack/query-core'],
  ...['@tanstack/react-virtual', '@tanstack/virtual-core'],
  ...['@fontsource-variable/geist', '@fontsource-variable/geist-mono'],
];

/** Packages in the built site. */
const SITE: readonly string[] = [
  ...['vitepress', 'vue', 'minisearch', 'mark.js', 'focus-trap', 'tabbable'],
  ...['@vue/shared', '@vueuse/core', '@vueuse/shared', '@vueuse/integrations'],
];

export function bundledLicenses(of: 'console' | 'site'): string {
  const texts = (of === 'console' ? CONSOLE : SITE).map((name) => {
    const folder = join(ROOT, 'node_modules', name);
    const [file = 'LICENSE'] = globSync('LICEN[CS]E*', { cwd: folder });
    const text = readFileSync(join(folder, file), 'utf8');
    return `${name}\n${'='.repeat(name.length)}\n\n${text.trim()}\n`;
  });
  return `Licenses of the packages that the ${of} bundles.\n\n${texts.join('\n\n')}`;
}
