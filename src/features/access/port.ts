// The port of projects and access keys (docs/spec/access.md).

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { Audited } from '../audit/model.ts';
import type {
  AccessKey,
  AddKeyRefusal,
  CountedQuota,
  EndKeyRefusal,
  KeyRequest,
  Project,
  ProjectSettings,
} from './model.ts';

export interface AccessStore {
  /** Creates the project, or replaces its settings. */
  putProject(request: PutProject): Promise<ProjectPut>;
  project(name: ProjectName): Promise<Project | undefined>;
  /** Sorted by name. */
  projects(query: ListProjects): Promise<readonly Project[]>;
  /** Repeating the same request is safe. `first`: adds the key only if the store has none. */
  addKey(request: AddKey): Promise<KeyAdded>;
  /** Includes revoked and expired keys. */
  key(id: string): Promise<AccessKey | undefined>;
  /** Newest first. */
  keys(query: ListKeys): Promise<readonly AccessKey[]>;
  /** Ends the key now or after `inMs`. An end is never postponed. */
  endKey(request: EndKey): Promise<KeyEnded>;
  /** The project's usage. Counts up to `max`, except for bytes (P-14). */
  usage(query: CountUsage): Promise<number>;
}

export interface CountUsage {
  readonly project: ProjectName;
  readonly quota: CountedQuota;
  readonly max: number;
}

export interface PutProject extends Audited {
  readonly name: ProjectName;
  readonly settings: ProjectSettings;
}

export interface ProjectPut {
  readonly kind: 'put';
  readonly existing: boolean;
}

export interface ListProjects {
  /** Continues after this project. */
  readonly after?: ProjectName;
  readonly limit: number;
}

export interface AddKey extends KeyRequest, Audited {
  readonly first?: true;
  /** The limit of usable keys, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export type KeyAdded =
  | { readonly kind: 'added'; readonly existing: boolean }
  | ({ readonly kind: 'refused' } & AddKeyRefusal);

export interface ListKeys {
  /** Only keys of this project. Keys for all projects are in no project's list. */
  readonly project?: ProjectName;
  /** Includes revoked and expired keys. */
  readonly all?: boolean;
  readonly after?: { readonly createdAt: number; readonly id: string };
  readonly limit: number;
}

export interface EndKey extends Audited {
  readonly id: string;
  /** A key of another project is refused as unknown. Undefined: any project. */
  readonly project?: ProjectName;
  /** Gives the key's holder time to change over. */
  readonly inMs?: number;
  /** Also revokes the keys that it created, and those that they created (P-13). Default false. */
  readonly made?: boolean;
}

export type KeyEnded =
  | {
      readonly kind: 'ended';
      readonly endedAt: Instant;
      readonly changed: boolean;
      /**
       * The other keys whose end this changed, in byte order. Present only if the request had
       * `made`.
       */
      readonly made?: readonly string[];
    }
  | ({ readonly kind: 'refused' } & EndKeyRefusal);
