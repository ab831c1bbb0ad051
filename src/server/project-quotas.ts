// Quotas of projects, counted by each coordinator for itself (P-14): what a look at the store found, and what was taken
// here since. A counter that every write changes would have all writes of a project wait for each other, and counting
// at each write would cost as much as the project has. So a look is at most once a second, and uses at most a hundredth
// of the time; several coordinators together may let through what they take between two looks.

import { DEFAULT_QUOTAS, describeOverQuota, type QuotaName, type Quotas } from '../access/quota.ts';
import type { ProjectName } from '../execution/names.ts';
import { ProblemReply } from '../protocol/rest/route.ts';
import type { AccessStore } from '../store/contract/access-store.ts';
import type { Clock } from '../support/clock.ts';

const LOOK_MS = 1_000;
const LOOKS_SHARE = 100;
/** Projects and quotas that are remembered; then all are looked at again. */
const BOOK_MAX = 50_000;

interface Entry {
  /** What the last look found. */
  found: number;
  limit: number;
  /** Taken here since that look began. */
  taken: number;
  /** The next look is not before. */
  nextAtMs: number;
  looking: Promise<void> | undefined;
}

export class ProjectQuotas {
  readonly #access: AccessStore;
  readonly #clock: Clock;
  readonly #quotas: Quotas;
  readonly #book: Map<string, Entry> = new Map();

  constructor(access: AccessStore, clock: Clock, quotas: Partial<Quotas> = {}) {
    this.#access = access;
    this.#clock = clock;
    this.#quotas = { ...DEFAULT_QUOTAS, ...quotas };
  }

  /** Throws a refusal where the project would have more than its quota. */
  async take(project: ProjectName, quota: QuotaName, count = 1): Promise<void> {
    if (count === 0) return;
    const entry = await this.#entry(project, quota);
    const isOver = (): boolean => entry.found + entry.taken + count > entry.limit;
    if (isOver() && this.#isDue(entry)) await this.#look(entry, project, quota);
    if (isOver()) throw overQuota(project, quota, entry.limit);
    entry.taken += count;
    // The answer is not waited for: until it is there, what was taken counts as if nothing had ended.
    if (this.#isDue(entry)) void this.#look(entry, project, quota).catch(() => undefined);
  }

  async #entry(project: ProjectName, quota: QuotaName): Promise<Entry> {
    const name = `${quota} ${project}`;
    const known = this.#book.get(name);
    if (known !== undefined) {
      if (known.nextAtMs === Number.NEGATIVE_INFINITY) await this.#look(known, project, quota);
      return known;
    }
    if (this.#book.size >= BOOK_MAX) this.#book.clear();
    const entry: Entry = {
      ...{ found: 0, limit: 0, taken: 0, looking: undefined },
      nextAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#book.set(name, entry);
    await this.#look(entry, project, quota);
    return entry;
  }

  #isDue({ nextAtMs }: Entry): boolean {
    return this.#clock.monotonicMs() >= nextAtMs;
  }

  #look(entry: Entry, project: ProjectName, quota: QuotaName): Promise<void> {
    entry.looking ??= this.#count(entry, project, quota).finally(() => {
      entry.looking = undefined;
    });
    return entry.looking;
  }

  async #count(entry: Entry, project: ProjectName, quota: QuotaName): Promise<void> {
    const sinceMs = this.#clock.monotonicMs();
    const before = entry.taken;
    const settings = (await this.#access.project(project))?.settings;
    const limit = settings?.quotas?.[quota] ?? this.#quotas[quota];
    entry.found = await this.#access.usage({ project, quota, max: limit + 1 });
    entry.limit = limit;
    entry.taken -= before;
    const nowMs = this.#clock.monotonicMs();
    entry.nextAtMs = nowMs + Math.max(LOOK_MS, (nowMs - sinceMs) * LOOKS_SHARE);
  }
}

function overQuota(project: ProjectName, quota: QuotaName, limit: number): ProblemReply {
  const reply = new ProblemReply(429, 'over-quota', describeOverQuota(project, quota, limit));
  reply.retryAfterS = LOOK_MS / 1_000;
  return reply;
}
