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
  /** Makes it, or gives it these settings. */
  putProject(request: PutProject): Promise<ProjectPut>;
  project(name: ProjectName): Promise<Project | undefined>;
  /** By name. */
  projects(query: ListProjects): Promise<readonly Project[]>;
  /** The same again is fine; `first`: only where there is no key at all. */
  addKey(request: AddKey): Promise<KeyAdded>;
  /** Ended and expired ones too. */
  key(id: string): Promise<AccessKey | undefined>;
  /** Newest first. */
  keys(query: ListKeys): Promise<readonly AccessKey[]>;
  /** From now, or from then on, it opens nothing. An end is never put off. */
  endKey(request: EndKey): Promise<KeyEnded>;
  /** How much of it the project has; counted up to `max`, except for bytes (P-14). */
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
  /** Goes on after this one. */
  readonly after?: ProjectName;
  readonly limit: number;
}

export interface AddKey extends KeyRequest, Audited {
  readonly first?: true;
  /** How many usable keys its project may have, unless the project's own settings differ (P-14). */
  readonly quota?: number;
}

export type KeyAdded =
  | { readonly kind: 'added'; readonly existing: boolean }
  | ({ readonly kind: 'refused' } & AddKeyRefusal);

export interface ListKeys {
  /** Of this one only; those of all projects are in no project's list. */
  readonly project?: ProjectName;
  /** Ended and expired ones too. */
  readonly all?: boolean;
  readonly after?: { readonly createdAt: number; readonly id: string };
  readonly limit: number;
}

export interface EndKey extends Audited {
  readonly id: string;
  /** Refused as unknown when it is of another one; of any when undefined. */
  readonly project?: ProjectName;
  /** So that who holds it has time to change over. */
  readonly inMs?: number;
  /** Ends the keys that it made too, and those that they made (P-13). Default false. */
  readonly made?: boolean;
}

export type KeyEnded =
  | {
      readonly kind: 'ended';
      readonly endedAt: Instant;
      readonly changed: boolean;
      /** Ids of the other keys whose end this changed, in byte order; only where `made` was asked for. */
      readonly made?: readonly string[];
    }
  | ({ readonly kind: 'refused' } & EndKeyRefusal);
