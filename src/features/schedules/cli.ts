// `holdfast schedules` lists schedules, runs one now, submits its past times, pauses and removes it.

import {
  type CommandSpec,
  commandOfVerbs,
  type Flag,
  requiredText,
  type Typed,
  type Verb,
  wordsOf,
} from '../../cli/command.ts';
import { CONNECTION_FLAGS, clientFor } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, showPages } from '../../cli/remote/pages.ts';
import type { Row } from '../../cli/remote/show.ts';
import { print, printLine } from '../../cli/screen.ts';
import type { HoldfastClient } from '../../client/client.ts';
import { dateFrom } from '../../support/clock.ts';
import { present, requireOneOf } from '../../support/options.ts';
import type { ScheduleMessage } from './messages.ts';
import { OVERLAPS, type Overlap } from './model.ts';

const FLAGS: Readonly<Record<string, Flag>> = {
  overlap: {
    value: 'skip|buffer|cancel|allow',
    help: 'trigger: Reaction while an execution of the schedule is open (default that of the schedule)',
  },
  key: {
    value: 'text',
    help: 'trigger: Idempotency key: a second call with it returns the same execution (default none)',
  },
  from: {
    value: 'time',
    help: 'backfill: First time to submit, such as 2026-11-01T00:00Z',
    required: true,
  },
  to: { value: 'time', help: 'backfill: Last time to submit, not in the future', required: true },
  ...PAGE_FLAGS,
  ...CONNECTION_FLAGS,
};

const list: Verb = {
  usage: 'holdfast schedules [--limit 100] [--cursor …] [--all] [--json]',
  execute: (typed) =>
    showPages(list, typed, {
      at: 'GET /v1/schedules',
      columns: ['id', 'when', 'target', 'paused', 'nextTimes.0', 'firedAt', 'lastExecution'],
      filters: [],
      rowOf: scheduleRow,
    }),
};

/** Such as `0 9 * * 1-5 Europe/Zurich`, `every 60000 ms`, `template nightly@2`. */
function scheduleRow(item: Row): Row {
  const { when, target } = item as Partial<ScheduleMessage>;
  return {
    ...item,
    ...(when && {
      when: 'cron' in when ? `${when.cron} ${when.timeZone}` : `every ${when.every} ms`,
    }),
    ...(target && { target: targetText(target) }),
  };
}

function targetText(target: ScheduleMessage['target']): string {
  if ('pipeline' in target) return target.pipeline;
  const { template, version } = target;
  return version === undefined ? `template ${template}` : `template ${template}@${version}`;
}

type Schedules = HoldfastClient['schedules'];
type Changed = Awaited<ReturnType<Schedules['trigger' | 'backfill' | 'pause']>>;

function verb(
  usage: string,
  change: (schedules: Schedules, id: string, typed: Typed) => Promise<Changed>,
): Verb {
  const made: Verb = {
    usage: `holdfast schedules ${usage} [--json]`,
    async execute(typed) {
      const [id] = wordsOf(made, typed, ['schedule']);
      const result = await change((await clientFor(typed)).schedules, id, typed);
      if (typed.isSet('json')) printLine(result);
      else print(sentenceOf(result));
      return 0;
    },
  };
  return made;
}

function sentenceOf(result: Changed): string {
  if (result.kind === 'submitted') return result.id;
  if (result.kind === 'skipped') {
    return `Nothing was submitted: execution ${result.open} is open. Pass --overlap allow.`;
  }
  if (result.kind === 'no-change') return 'No change: it was so already';
  return 'times' in result ? `Submitted ${result.submitted} of ${result.times} times` : 'Done';
}

const trigger: Verb = verb(
  'trigger <id> [--overlap allow] [--key incident-7]',
  (schedules, id, typed) => {
    const overlap = typed.text('overlap') as Overlap | undefined;
    if (overlap !== undefined) requireOneOf('--overlap', overlap, OVERLAPS);
    return schedules.trigger(id, present({ overlap, key: typed.text('key') }));
  },
);

const backfill: Verb = verb('backfill <id> --from <time> --to <time>', (schedules, id, typed) =>
  schedules.backfill(id, { from: timeOf(typed, 'from'), to: timeOf(typed, 'to') }),
);

/** Sent unchanged if it is not a time, so that the coordinator refuses it by name. */
function timeOf(typed: Typed, name: 'from' | 'to'): string {
  const text = requiredText({ ...backfill, flags: FLAGS }, typed, name);
  const at = dateFrom(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

export const schedulesCommand: CommandSpec = commandOfVerbs(
  'schedules',
  {
    ...{ list, trigger, backfill },
    pause: verb('pause <id>', (schedules, id) => schedules.pause(id)),
    resume: verb('resume <id>', (schedules, id) => schedules.resume(id)),
    remove: verb('remove <id>', (schedules, id) => schedules.remove(id)),
  },
  FLAGS,
);
