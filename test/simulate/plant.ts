// `node --import` this: it changes one place of one source file when Node loads that file.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { plantedBug } from './planted-bugs.ts';

const { file, before, after } = plantedBug(process.env['HOLDFAST_PLANTED'] ?? '');
const path = join(import.meta.dirname, '../..', file);
const target = pathToFileURL(path).href;

registerHooks({
  load(url, context, nextLoad) {
    if (url !== target) return nextLoad(url, context);
    const source = readFileSync(path, 'utf8');
    if (source.split(before).length !== 2) {
      throw new Error(`${file} does not have exactly one "${before}". Update planted-bugs.ts.`);
    }
    const text = source.replace(before, () => after);
    return { format: 'module-typescript', source: text, shortCircuit: true };
  },
});
