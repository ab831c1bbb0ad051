// Import this first: it hides node:sqlite, as on Node 20.

import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'node:sqlite') return next(specifier, context);
    const missing = new Error('No such built-in module: node:sqlite');
    throw Object.assign(missing, { code: 'ERR_UNKNOWN_BUILTIN_MODULE' });
  },
});
