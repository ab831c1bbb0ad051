// Lists the problems that need a person now, the worst first. Pure.

import type { OverviewMessage, TrendsMessage } from '../../../src/features/overview/messages.ts';
import type { Count } from '../../../src/features/overview/model.ts';
import type { PipelineRolloutMessage } from '../../../src/features/releases/messages.ts';
import { countText, durationText, plural } from './words.ts';

export interface Concern {
  readonly key: string;
  readonly severity: 'bad' | 'quarantine' | 'warn';
  readonly title: string;
  readonly detail: string;
  readonly to: string;
  readonly verb: string;
}

/** The filter of executions that a range counts. */
export function rangeQuery(from: string | undefined, to: string | undefined): string {
  const given = { ...(from && { endedFrom: from }), ...(to && { endedTo: to }) };
  const text = new URLSearchParams(given).toString();
  return text === '' ? '' : `&${text}`;
}

/** A ready execution normally waits for less than this. */
const LONG_WAIT_MS = 60_000;
const CAUSES_MAX = 3;

/** The store counts up to a limit: `10,000+`. */
export function cappedText({ count, capped }: Count, one: string): string {
  return capped ? `${plural(count, one, '').trim()}+ ${one}s` : plural(count, one);
}

interface ConcernOptions {
  readonly rollouts?: readonly PipelineRolloutMessage[] | undefined;
  /** The end of the range; now by default. */
  readonly to?: string | undefined;
}

export function concernsOf(
  overview: OverviewMessage,
  trends?: Pick<TrendsMessage, 'pipelines' | 'from'>,
  { rollouts = [], to }: ConcernOptions = {},
): readonly Concern[] {
  const { storeProblem, deadLetters, questions, workers } = overview;
  const nowMs = Date.parse(overview.at);
  return [
    ...(storeProblem === undefined
      ? []
      : [
          {
            ...({ key: 'store', severity: 'bad', title: storeProblem.sentence } as const),
            ...{ detail: storeProblem.advice, to: '/workers', verb: 'View' },
          },
        ]),
    ...overview.pipelines.flatMap((figures) => readyConcern(figures, nowMs)),
    ...overview.pipelines.flatMap(blockedConcern),
    ...(trends?.pipelines ?? [])
      .filter((figures) => !isRedriven(figures, deadLetters))
      .flatMap((figures) => failingConcern(figures, rollouts, rangeQuery(trends?.from, to))),
    ...letterConcern(deadLetters),
    ...quarantinedConcern(deadLetters),
    ...(workers.stuck === 0
      ? []
      : [
          {
            ...({ key: 'stuck', severity: 'bad', to: '/workers', verb: 'View' } as const),
            title: `${plural(workers.stuck, 'worker')} stuck`,
            detail: 'The process lives, but its claim loop does not run.',
          },
        ]),
    ...(workers.lapsed === 0
      ? []
      : [
          {
            ...({ key: 'lapsed', severity: 'bad', to: '/workers', verb: 'View' } as const),
            title: `${plural(workers.lapsed, 'worker')} lapsed`,
            detail: `${plural(workers.left, 'execution')} left running, until another worker takes over.`,
          },
        ]),
    ...(workers.refused === 0
      ? []
      : [
          {
            ...({ key: 'refused', severity: 'warn', to: '/workers', verb: 'View' } as const),
            title: `${plural(workers.refused, 'worker')} with a refused release`,
            detail: 'Such a worker gets no pinned executions.',
          },
        ]),
    ...questionConcern(questions),
  ];
}

function readyConcern(
  figures: OverviewMessage['pipelines'][number],
  nowMs: number,
): readonly Concern[] {
  const { pipeline, release, statuses, ready, oldestReadyAt, workers, lastWorker } = figures;
  const isServed = workers > 0;
  // Executions of a worker that is gone stay `running` until another worker takes them over.
  const left = isServed || lastWorker === undefined ? undefined : statuses['running'];
  const ago = (at: string): number => Math.max(0, nowMs - Date.parse(at));
  const waitedMs =
    ready.count === 0 || oldestReadyAt === undefined ? undefined : ago(oldestReadyAt);
  if (waitedMs === undefined && left === undefined) return [];
  if (isServed && (waitedMs ?? 0) < LONG_WAIT_MS) return [];
  const name = shownName({ pipeline, release });
  const details = [
    ...(waitedMs === undefined
      ? []
      : [`${cappedText(ready, 'execution')} ready for ${durationText(waitedMs)}`]),
    ...(left === undefined ? [] : [`${cappedText(left, 'execution')} left running`]),
    ...(isServed ? [plural(workers, 'worker')] : []),
    ...(lastWorker === undefined
      ? []
      : [
          `last served by ${lastWorker.owner}, seen ${durationText(ago(lastWorker.lastSeenAt))} ago`,
        ]),
  ];
  const shown = left === undefined ? 'status=queued' : 'status=queued&status=running';
  return [
    {
      key: `ready/${name}`,
      severity: isServed ? 'warn' : 'bad',
      title: isServed ? `${name} is behind` : `No worker serves ${name}`,
      detail: details.join(' · '),
      to: `/executions?${shown}&pipeline=${encodeURIComponent(pipeline)}`,
      verb: 'View',
    },
  ];
}

function shownName({
  pipeline,
  release,
}: {
  readonly pipeline: string;
  readonly release?: string | undefined;
}): string {
  return release === undefined ? pipeline : `${pipeline} (release ${release})`;
}

/** Code that throws outside of a step is most often a bad deploy. Its executions do not end. */
function blockedConcern(figures: OverviewMessage['pipelines'][number]): readonly Concern[] {
  const { pipeline, blocked } = figures;
  if (blocked === undefined) return [];
  const name = shownName(figures);
  const isOne = blocked.count === 1 && !blocked.capped;
  return [
    {
      ...{ key: `blocked/${name}`, severity: 'bad', verb: 'View' },
      title: `${cappedText(blocked, `${name} execution`)} ${isOne ? 'is' : 'are'} blocked`,
      detail: 'Their code threw outside of a step, or does not match their history.',
      to: `/executions?hold=blocked&pipeline=${encodeURIComponent(pipeline)}`,
    },
  ];
}

/** Fewer failures, or a smaller part of them, need no person yet. */
const FAILURES_MIN = 3;
const FAILING_PART = 0.2;

/** The range still counts failures after their repair. Quarantined executions are repaired elsewhere. */
function isRedriven(
  { pipeline, ended }: TrendsMessage['pipelines'][number],
  { count, capped, causes }: OverviewMessage['deadLetters'],
): boolean {
  const known = causes.reduce((sum, each) => sum + each.count, 0);
  const isComplete = !capped && known === count;
  return (
    isComplete && ended.quarantined === 0 && !causes.some((each) => each.pipeline === pipeline)
  );
}

/**
 * A release that fails is most often a bad deploy, so its concern leads to the rollout. After a rollback,
 * it leads to the executions that are left to re-drive.
 */
function failingConcern(
  { pipeline, release, ended }: TrendsMessage['pipelines'][number],
  rollouts: readonly PipelineRolloutMessage[],
  range: string,
): readonly Concern[] {
  const bad = ended.failed + ended.quarantined;
  const all = bad + ended.completed + ended.cancelled + ended.compensated;
  if (bad < FAILURES_MIN || bad < all * FAILING_PART) return [];
  const path = encodeURIComponent(pipeline);
  const detail = `${countText(bad)} of ${plural(all, 'execution')} failed in the chosen range`;
  if (release === undefined) {
    return [
      {
        ...{ key: `failing/${pipeline}`, severity: 'bad', title: `${pipeline} is failing` },
        ...{ detail, to: `/executions?pipeline=${path}&status=failed&status=quarantined${range}` },
        verb: 'View',
      },
    ];
  }
  const { active, canary } = rollouts.find((each) => each.pipeline === pipeline) ?? {};
  const isOut = active !== undefined && active !== release && canary !== release;
  const key = `failing/${pipeline}/${release}`;
  return [
    isOut
      ? {
          ...{ key, severity: 'warn', title: `${pipeline} failed in release ${release}` },
          detail: `${detail} · new executions go to ${active}`,
          ...(ended.failed > 0
            ? { to: `/dead-letters?pipeline=${path}`, verb: 'Re-drive' }
            : { to: '/quarantine', verb: 'View' }),
        }
      : {
          ...{ key, severity: 'bad', title: `${pipeline} is failing in release ${release}` },
          ...{ detail, to: `/releases/${path}?release=${encodeURIComponent(release)}` },
          verb: 'Roll back',
        },
  ];
}

function questionConcern({ open, overdue }: OverviewMessage['questions']): readonly Concern[] {
  if (open.count === 0) return [];
  const isOverdue = overdue.count > 0;
  return [
    {
      ...{ key: 'questions', severity: 'warn', to: '/inbox', verb: 'Answer' },
      title: isOverdue
        ? `${cappedText(overdue, 'request')} overdue`
        : `${cappedText(open, 'request')} without an answer`,
      detail: isOverdue
        ? `${cappedText(open, 'open request')} in all`
        : 'Their executions wait until a person answers.',
    },
  ];
}

function letterConcern(letters: OverviewMessage['deadLetters']): readonly Concern[] {
  if (letters.count === 0) return [];
  const causes = letters.causes.slice(0, CAUSES_MAX).map(({ code, count }) => `${code} ${count}`);
  const more = letters.causes.length - causes.length;
  const details = [
    `${countText(letters.lastHour.count)}${letters.lastHour.capped ? '+' : ''} in the last hour`,
    ...causes,
    ...(more === 0 ? [] : [`${more} more`]),
  ];
  return [
    {
      ...{ key: 'letters', severity: 'bad', to: '/dead-letters', verb: 'Triage' },
      title: `${cappedText(letters, 'dead letter')}, ${plural(letters.causes.length, 'cause')}`,
      detail: details.join(' · '),
    },
  ];
}

/** Their compensations are incomplete, so a re-drive alone does not repair them. */
function quarantinedConcern({ quarantined }: OverviewMessage['deadLetters']): readonly Concern[] {
  if (quarantined.count === 0) return [];
  return [
    {
      ...{ key: 'quarantined', severity: 'quarantine', to: '/quarantine', verb: 'Repair' },
      title: `${cappedText(quarantined, 'execution')} quarantined`,
      detail: 'A compensation failed for good, or the execution repeatedly ended its worker.',
    },
  ];
}
