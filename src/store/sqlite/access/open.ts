import type { AccessStore } from '../../../features/access/port.ts';
import { keysOf } from '../../sql/access/keys.ts';
import { projectsOf } from '../../sql/access/projects.ts';
import type { Database } from '../database.ts';
import { accessGatewayOf } from '../gateway.ts';
import { usage } from './usage.ts';

export function accessOf(database: Database): AccessStore {
  const gateway = accessGatewayOf(database);
  return {
    ...projectsOf(gateway),
    ...keysOf(gateway),
    usage: (query) => database.read((tx) => usage(tx, query)),
  };
}
