// How much of each thing one project may have at a time, so that no project takes the room of the others. One table:
// settings, checks and refusals are made from it.

/** Changed too often for a count in each statement: each coordinator counts (P-14). */
export type CountedQuota = 'executions' | 'sessions' | 'bytes';

export type QuotaName = CountedQuota | 'schedules' | 'keys';

/** How much a project may have. */
export type Quotas = Readonly<Record<QuotaName, number>>;

interface Quota {
  readonly default: number;
  readonly max: number;
  /** What is counted. */
  readonly of: string;
  /** How a project comes below its quota again. */
  readonly less: string;
}

const MANY = 1_000_000_000;
const BYTES = 100 * 1024 * 1024 * 1024;

export const QUOTAS: Readonly<Record<QuotaName, Quota>> = {
  executions: {
    ...{ default: 1_000_000, max: MANY, of: 'open executions' },
    less: 'Wait until some have ended, or cancel some',
  },
  schedules: { default: 10_000, max: MANY, of: 'schedules', less: 'Remove some' },
  sessions: { default: 10_000, max: MANY, of: 'live sessions', less: 'Stop some workers' },
  keys: { default: 1_000, max: MANY, of: 'usable keys', less: 'Revoke some' },
  bytes: {
    ...{ default: BYTES, max: Number.MAX_SAFE_INTEGER },
    of: 'bytes of large values and attachments',
    less: 'Store less',
  },
};

export const QUOTA_NAMES: readonly QuotaName[] = Object.keys(QUOTAS) as QuotaName[];

export const DEFAULT_QUOTAS: Quotas = Object.fromEntries(
  QUOTA_NAMES.map((name) => [name, QUOTAS[name].default]),
) as Quotas;

/** What was refused, why, and what to do next. */
export function describeOverQuota(project: string, name: QuotaName, limit: number): string {
  const { of, less } = QUOTAS[name];
  return `Project ${JSON.stringify(project)} may have ${limit} ${of}, and this would be more. Nothing was written. ${less}, or let an operator raise the quota: holdfast projects put ${project} --quota ${name}=<number>, or quotas.${name} for all projects.`;
}
