import type { AccessStore } from '../../contract/access-store.ts';
import type { Database } from '../database.ts';
import { endKey } from './end-key.ts';
import { addKey, key, keys } from './keys.ts';
import { project, projects, putProject } from './projects.ts';
import { usage } from './usage.ts';

export function accessOf(database: Database): AccessStore {
  return {
    putProject: (request) => putProject(database, request),
    project: (name) => project(database, name),
    projects: (query) => projects(database, query),
    addKey: (request) => addKey(database, request),
    key: (id) => key(database, id),
    keys: (query) => keys(database, query),
    endKey: (request) => endKey(database, request),
    usage: (query) => usage(database, query),
  };
}
