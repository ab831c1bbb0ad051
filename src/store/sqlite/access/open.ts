import type { AccessStore } from '../../contract/access-store.ts';
import type { Database } from '../database.ts';
import { endKey } from './end-key.ts';
import { addKey, key, keys } from './keys.ts';
import { project, projects, putProject } from './projects.ts';
import { usage } from './usage.ts';

/** What the caller does to its request before the flush cannot reach what is stored. */
export function accessOf(database: Database): AccessStore {
  return {
    putProject: (request) => {
      const own = structuredClone(request);
      return database.write((tx) => putProject(tx, own));
    },
    project: (name) => database.read((tx) => project(tx, name)),
    projects: (query) => database.read((tx) => projects(tx, query)),
    addKey: (request) => {
      const own = structuredClone(request);
      return database.write((tx) => addKey(tx, own));
    },
    key: (id) => database.read((tx) => key(tx, id)),
    keys: (query) => database.read((tx) => keys(tx, query)),
    endKey: (request) => {
      const own = { ...request };
      return database.write((tx) => endKey(tx, own));
    },
    usage: (query) => database.read((tx) => usage(tx, query)),
  };
}
