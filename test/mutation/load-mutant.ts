// `node --import` this: it changes one line of one source file when Node loads that file.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Mutant, STORES_FOLDER } from './mutants.ts';

const mutant = JSON.parse(process.env['HOLDFAST_MUTANT'] ?? 'null') as Mutant | null;
if (mutant === null) throw new Error('HOLDFAST_MUTANT must name the mutant to load');

const path = join(STORES_FOLDER, mutant.file);
const target = pathToFileURL(path).href;

registerHooks({
  load(url, context, nextLoad) {
    if (url !== target) return nextLoad(url, context);
    const lines = readFileSync(path, 'utf8').split('\n');
    if (lines[mutant.line - 1] !== mutant.before) {
      throw new Error(`${mutant.file} was changed since its mutants were listed`);
    }
    lines[mutant.line - 1] = mutant.text;
    process.env['HOLDFAST_MUTANT_LOADED'] = mutant.id;
    return { format: 'module-typescript', source: lines.join('\n'), shortCircuit: true };
  },
});
