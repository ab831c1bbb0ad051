// Loaded with --import: resolves the names of the package's entry points to their sources, so that examples run as a
// user writes them. Other packages come from those of the project.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { sourceOf } from '../test/tidy/package-exports.ts';

const ROOT = new URL('../', import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

registerHooks({
  resolve(name, context, next) {
    if (/^[./]|^\w+:/.test(name)) return next(name, context);
    const target = /^holdfast(?:$|\/)/.test(name) ? exports[`.${name.slice(8)}`] : undefined;
    if (typeof target === 'object')
      return next(new URL(sourceOf(target.default), ROOT).href, context);
    return next(name, { ...context, parentURL: pathToFileURL(import.meta.filename).href });
  },
});
