import type { AccessStore } from '../../../features/access/port.ts';
import { keysOf } from '../../sql/access/keys.ts';
import { projectsOf } from '../../sql/access/projects.ts';
import type { Database } from '../database.ts';
import { plainGatewayOf } from '../gateway.ts';
import { usage } from './usage.ts';

export function accessOf(database: Database): AccessStore {
  const gateway = plainGatewayOf(database);
  return {
    ...projectsOf(gateway),
    ...keysOf(gateway),
    usage: (query) => usage(database, query),
  };
}
