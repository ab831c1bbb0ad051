import type { AccessStore } from '../../contract/access-store.ts';
import type { MemoryState } from '../state.ts';
import { addKey, endKey, key, keys } from './keys.ts';
import { project, projects, putProject } from './projects.ts';
import { AccessState } from './state.ts';

export function accessOf(kernel: MemoryState): AccessStore {
  const state = new AccessState(kernel);
  return {
    putProject: async (request) => putProject(state, request),
    project: async (name) => project(state, name),
    projects: async (query) => projects(state, query),
    addKey: async (request) => addKey(state, request),
    key: async (id) => key(state, id),
    keys: async (query) => keys(state, query),
    endKey: async (request) => endKey(state, request),
  };
}
