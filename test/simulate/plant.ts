// `node --import` this: it changes one place of one source file when Node loads that file.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { plantedBug } from './planted-bugs.ts';

const { file, line, before, after } = plantedBug(process.env['HOLDFAST_PLANTED'] ?? '');
const path = join(import.meta.dirname, '../..', file);
const target = pathToFileURL(path).href;

registerHooks({
  load(url, context, nextLoad) {
    if (url !== target) return nextLoad(url, context);
    const source = readFileSync(path, 'utf8');
    const text = line === undefined ? withPlace(source) : withLine(source.split('\n'), line);
    return { format: 'module-typescript', source: text, shortCircuit: true };
  },
});

function withPlace(source: string): string {
  if (source.split(before).length !== 2) stale();
  return source.replace(before, () => after);
}

function withLine(lines: readonly string[], number: number): string {
  if (lines[number - 1] !== before) stale();
  return lines.with(number - 1, after).join('\n');
}

function stale(): never {
  throw new Error(`${file} no longer has "${before}" once. Update planted-bugs.ts.`);
}
