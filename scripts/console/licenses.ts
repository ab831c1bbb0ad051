import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** What is in the built console; their licenses ask to be named where it goes. */
const BUNDLED: readonly string[] = [
  ...['react', 'react-dom', 'scheduler', 'uplot'],
  ...['@tanstack/react-query', '@tanstack/query-core'],
  ...['@tanstack/react-virtual', '@tanstack/virtual-core'],
  ...['@fontsource-variable/geist', '@fontsource-variable/geist-mono'],
];

export function bundledLicenses(): string {
  const texts = BUNDLED.map((name) => {
    const text = readFileSync(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8');
    return `${name}\n${'='.repeat(name.length)}\n\n${text.trim()}\n`;
  });
  return `What the console is made of, besides Holdfast itself.\n\n${texts.join('\n\n')}`;
}
