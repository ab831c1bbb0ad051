// Every option of export, import and unseal.

import { exportStore, importStore, unsealStore } from '../../../src/embedded/export-store.ts';
import type { Options } from './argument.ts';
import { FUNCTION, NONE, optional, TEXT } from './wrong-values.ts';

/** Nothing exists at this path, and nothing can be created there. */
const NO_STORE = '/nowhere/holdfast.db';
const EXPORTED_BY = { actor: 'olga', reason: 'a new server' };

export const OPTIONS_OF_EXPORTS: readonly Options<void>[] = [
  {
    of: 'exportStore',
    with: { store: NO_STORE, to: '/nowhere/all.ndjson', ...EXPORTED_BY },
    fits: NONE,
    names: {
      store: TEXT,
      to: TEXT,
      actor: TEXT,
      reason: TEXT,
      postgres: optional(['an object']),
      onProgress: optional(FUNCTION),
    },
    call: (_, options) => exportStore(options as never),
  },
  {
    of: 'importStore',
    with: { store: NO_STORE, from: '/nowhere/all.ndjson', actor: 'olga' },
    fits: NONE,
    names: {
      store: TEXT,
      from: TEXT,
      actor: TEXT,
      postgres: optional(['an object']),
      onProgress: optional(FUNCTION),
    },
    call: (_, options) => importStore(options as never),
  },
  {
    of: 'unsealStore',
    with: { store: NO_STORE, ...EXPORTED_BY },
    fits: NONE,
    names: { store: TEXT, actor: TEXT, reason: TEXT, postgres: optional(['an object']) },
    call: (_, options) => unsealStore(options as never),
  },
];
