// `holdfast top` shows the figures of a project, live on a terminal.

import {
  type CommandSpec,
  durationText,
  type ExitCode,
  refuseWords,
  type Typed,
} from '../../cli/command.ts';
import { CONNECTION_FLAGS, clientFor } from '../../cli/remote/connection.ts';
import { print, printLine, RedrawnLines, table } from '../../cli/screen.ts';
import { systemTimers } from '../../support/timer.ts';
import type { OverviewMessage, TrendsMessage } from './messages.ts';
import { blockedIn, type Count } from './model.ts';

export const topCommand: CommandSpec = {
  usage: 'holdfast top [--range 1h] [--once] [--json]',
  flags: {
    range: {
      value: 'duration',
      help: 'Range of rates and durations, such as 15m, 6h or 7d (default 1h)',
    },
    once: { help: 'Print the figures once and exit; the default unless on a terminal' },
    ...CONNECTION_FLAGS,
  },
  execute,
};

const EVERY_MS = 1_000;
const HOUR_MS = 3_600_000;

async function execute(typed: Typed): Promise<ExitCode> {
  refuseWords(topCommand, typed);
  const rangeMs = durationText('range', typed.text('range')) ?? HOUR_MS;
  const { overview } = await clientFor(typed);
  const read = async (): Promise<Shown> => {
    const [now, trends] = await Promise.all([overview.read(), overview.trends({ rangeMs })]);
    return { overview: now, trends };
  };
  if (typed.isSet('json')) {
    printLine(await read());
    return 0;
  }
  const isLive = process.stdout.isTTY === true && !typed.isSet('once');
  if (!isLive) {
    print(linesOf(await read()).join('\n'));
    return 0;
  }
  const screen = new RedrawnLines();
  for (;;) {
    screen.draw(linesOf(await read()));
    await systemTimers.pause(EVERY_MS);
  }
}

interface Shown {
  readonly overview: OverviewMessage;
  readonly trends: TrendsMessage;
}

/** `10,000+` if there are more. */
function shownCount({ count, capped }: Count = { count: 0, capped: false }): string {
  return `${count.toLocaleString('en-US')}${capped ? '+' : ''}`;
}

const HEAD = [
  ...['PIPELINE', 'RELEASE', 'READY', 'OLDEST', 'RUNNING', 'WAITING', 'BLOCKED'],
  ...['ENDED', 'PER MIN', 'FAILED', 'P50', 'P95', 'P99', 'WORKERS'],
];

function linesOf({ overview, trends }: Shown): readonly string[] {
  const { workers, deadLetters, questions } = overview;
  const blocked = blockedIn(overview);
  const head = `${overview.at}  ${workers.ready} workers, ${workers.running} running, room for ${workers.room}`;
  const notes = [
    ...(workers.stuck > 0 ? [`${workers.stuck} workers are stuck.`] : []),
    ...(workers.lapsed > 0
      ? [`${workers.lapsed} workers lapsed, and still own ${workers.left} executions.`]
      : []),
    ...(workers.refused > 0 ? [`${workers.refused} workers have a refused release.`] : []),
    ...(blocked.count > 0
      ? [`${shownCount(blocked)} blocked executions: holdfast list --hold blocked`]
      : []),
    ...(questions.open.count > 0
      ? [`${shownCount(questions.open)} open questions, ${shownCount(questions.overdue)} overdue.`]
      : []),
    ...(deadLetters.count > 0
      ? [
          `${shownCount(deadLetters)} dead letters, ${shownCount(deadLetters.lastHour)} in the last hour, ${shownCount(deadLetters.quarantined)} quarantined, ${deadLetters.causes.length} causes:`,
        ]
      : []),
    ...deadLetters.causes
      .slice(0, 5)
      .map(({ count, code, pipeline, step = '', message }) =>
        [`  ${count}`, code, `${pipeline} ${step}`.trim(), message].join('  '),
      ),
  ];
  const routes = routesOf(overview, trends);
  const rows = routes.map((route) => rowOf(route, overview, trends));
  const none = routes.length === 0 ? ['No executions.'] : table([HEAD, ...rows]).split('\n');
  return [head, ...notes, '', ...none];
}

interface Route {
  readonly pipeline: string;
  readonly release?: string;
}

/** Pipelines that only ended executions, or only removed ones, have too. */
function routesOf({ pipelines }: OverviewMessage, trends: TrendsMessage): readonly Route[] {
  const all = [...pipelines, ...trends.pipelines];
  const byName = new Map(all.map((each) => [JSON.stringify([each.pipeline, each.release]), each]));
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function rowOf(route: Route, overview: OverviewMessage, trends: TrendsMessage): readonly string[] {
  const isIt = (each: Route): boolean =>
    each.pipeline === route.pipeline && each.release === route.release;
  const now = overview.pipelines.find(isIt);
  const { ended, duration } = trends.pipelines.find(isIt) ?? {};
  const all = Object.values(ended ?? {}).reduce((sum, count) => sum + count, 0);
  const bad = (ended?.failed ?? 0) + (ended?.quarantined ?? 0);
  const minutes = (Date.parse(trends.to) - Date.parse(trends.from)) / 60_000;
  const oldest = now?.oldestReadyAt;
  return [
    route.pipeline,
    route.release ?? '',
    shownCount(now?.ready),
    oldest === undefined ? '' : shownMs(Date.parse(overview.at) - Date.parse(oldest)),
    shownCount(now?.statuses['running']),
    shownCount(now?.statuses['waiting']),
    shownCount(now?.blocked),
    String(all),
    (all / minutes).toFixed(1),
    all === 0 ? '' : `${((100 * bad) / all).toFixed(1)} %`,
    ...[duration?.p50Ms, duration?.p95Ms, duration?.p99Ms].map(shownMs),
    String(now?.workers ?? 0),
  ];
}

function shownMs(ms: number | undefined): string {
  if (ms === undefined) return '';
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < HOUR_MS) return `${Math.round(ms / 60_000)} min`;
  return ms < 48 * HOUR_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / 86_400_000)} d`;
}
