import type { SealStore } from '../../../features/export/port.ts';
import type { Database } from '../database.ts';
import { readSeal, seal } from './seal.ts';
import { unseal } from './unseal.ts';

export function sealsOf(database: Database): SealStore {
  return {
    seal: (request) => database.operate((tx) => seal(tx, request)),
    unseal: (request) => database.operate((tx) => unseal(tx, request)),
    read: () => database.read(readSeal),
  };
}
