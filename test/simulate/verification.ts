// Writes figures into docs/verification.md, between the marks of a section.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, '../../docs/verification.md');

export function writeSection(name: string, text: string): void {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const page = readFileSync(FILE, 'utf8');
  const from = page.indexOf(begin) + begin.length;
  const to = page.indexOf(end);
  if (from < begin.length || to < from) throw new Error(`${FILE} has no section "${name}".`);
  writeFileSync(FILE, `${page.slice(0, from)}\n${text}\n\n${page.slice(to)}`);
}
