// The port of projects, access keys, saved views and channels (docs/spec/access.md).

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { Audited } from '../audit/model.ts';
import type { ChannelStore } from '../channels/port.ts';
import type { ViewStore } from '../views/port.ts';
import type {
  AccessKey,
  CountedQuota,
  CreateKeyRefusal,
  KeyRequest,
  Project,
  ProjectSettings,
  RevokeKeyRefusal,
} from './model.ts';

export interface AccessStore extends ViewStore, ChannelStore {
  /** Creates the project, or replaces its settings. */
  putProject(request: PutProject): Promise<ProjectPut>;
  project(name: ProjectName): Promise<Project | undefined>;
  /** Sorted by name. */
  projects(query: ListProjects): Promise<readonly Project[]>;
  /** Repeating the same request is safe. `first`: creates the key only if the store has none. */
  createKey(request: CreateKey): Promise<KeyCreated>;
  /** Includes revoked and expired keys. */
  key(id: string): Promise<AccessKey | undefined>;
  /** Newest first. */
  keys(query: ListKeys): Promise<readonly AccessKey[]>;
  /** Revokes the key now or after `inMs`. A revocation is never postponed. */
  revokeKey(request: RevokeKey): Promise<KeyRevoked>;
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

export interface CreateKey extends KeyRequest, Audited {
  readonly first?: true;
  /** The limit of usable keys, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export type KeyCreated =
  | { readonly kind: 'created'; readonly existing: boolean }
  | ({ readonly kind: 'refused' } & CreateKeyRefusal);

export interface ListKeys {
  /** Only keys of this project. Keys for all projects are in no project's list. */
  readonly project?: ProjectName;
  /** Includes revoked and expired keys. */
  readonly all?: boolean;
  readonly after?: { readonly createdAt: number; readonly id: string };
  readonly limit: number;
}

export interface RevokeKey extends Audited {
  readonly id: string;
  /** A key of another project is refused as unknown. Undefined: any project. */
  readonly project?: ProjectName;
  /** Gives the key's holder time to change over. */
  readonly inMs?: number;
  /** Also revokes the keys that it created, and those that they created (P-13). Default false. */
  readonly descendants?: boolean;
}

export type KeyRevoked =
  | {
      readonly kind: 'revoked';
      readonly revokedAt: Instant;
      readonly changed: boolean;
      /**
       * The other keys whose end this changed, in byte order. Present only if the request had
       * `descendants`.
       */
      readonly descendants?: readonly string[];
    }
  | ({ readonly kind: 'refused' } & RevokeKeyRefusal);
