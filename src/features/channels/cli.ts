// `holdfast channel` lists channels, creates, tests and removes them, and shows and replays messages.

import {
  type CommandSpec,
  commandOfVerbs,
  durationText,
  type Flag,
  integerText,
  listText,
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
import { present } from '../../support/options.ts';
import type { ChannelBody, DeliveryMessage } from './messages.ts';
import { CHANNEL_EVENTS } from './model.ts';

const FLAGS: Readonly<Record<string, Flag>> = {
  to: { value: 'url', help: 'put: URL of the endpoint or the queue', required: true },
  kind: { value: 'webhook|sqs', help: 'put: Transport of the messages (default webhook)' },
  events: {
    value: 'a,b',
    help: `put: Events to announce (default all): ${CHANNEL_EVENTS.join(', ')}`,
  },
  paused: { help: 'put: Write messages, and do not send them yet' },
  answers: { help: 'put: Let its secret sign answers to questions of the project' },
  'dead-letters': {
    value: 'n',
    help: 'put: Raise an alert at this many failed executions of a pipeline within --window (default no alert)',
  },
  window: { value: 'duration', help: 'put: Window of --dead-letters (default 15m)' },
  'queue-age': {
    value: 'duration',
    help: 'put: Raise an alert when an execution is ready for this time, such as 15m (default no alert)',
  },
  'no-workers': {
    value: 'duration',
    help: 'put: Raise an alert when a pipeline has ready executions and no worker for this time (default no alert)',
  },
  overlap: {
    value: 'duration',
    help: 'rotate: Time in which both secrets are valid, such as 2h (default 24h)',
  },
  state: {
    value: 'pending|delivered|failed',
    help: 'log: Only messages in this state (default all)',
  },
  message: { value: 'id', help: 'replay: Only this message (default the failed ones)' },
  ...PAGE_FLAGS,
  ...CONNECTION_FLAGS,
};

const list: Verb = {
  usage: 'holdfast channel [--limit 100] [--cursor …] [--all] [--json]',
  execute: (typed) =>
    showPages(list, typed, {
      at: 'GET /v1/channels',
      columns: ['id', 'kind', 'url', 'events', 'paused', 'failures', 'openUntil'],
      filters: [],
    }),
};

const log: Verb = {
  usage: 'holdfast channel log <id> [--state failed] [--limit 100] [--all] [--json]',
  async execute(typed) {
    const [id] = wordsOf(log, typed, ['channel']);
    return showPages(
      log,
      { ...typed, words: [] },
      {
        ...{ at: 'GET /v1/channels/:id/deliveries', params: { id } },
        columns: ['id', 'at', 'state', 'attempts', 'status', 'ms', 'error', 'nextAt'],
        filters: ['state'],
        rowOf,
      },
    );
  },
};

function rowOf(item: Row): Row {
  const { at, log: attempts } = item as DeliveryMessage;
  return { ...item, ...attempts.at(-1), at };
}

type Channels = HoldfastClient['channels'];

function verb<Result extends object>(
  usage: string,
  run: (channels: Channels, id: string, typed: Typed) => Promise<Result>,
  sentence: (result: Result, id: string) => string,
): Verb {
  const made: Verb = {
    usage: `holdfast channel ${usage} [--json]`,
    async execute(typed) {
      const [id] = wordsOf(made, typed, ['channel']);
      const result = await run((await clientFor(typed)).channels, id, typed);
      if (typed.isSet('json')) printLine(result);
      else print(sentence(result, id));
      return 0;
    },
  };
  return made;
}

const put: Verb = verb(
  'put <id> --to <url> [--kind sqs] [--events execution-ended,dead-letter-created] [--paused]',
  (channels, id, typed) =>
    channels.put(id, {
      kind: (typed.text('kind') ?? 'webhook') as ChannelBody['kind'],
      url: requiredText({ ...put, flags: FLAGS }, typed, 'to'),
      events: [...(listText(typed.text('events')) ?? CHANNEL_EVENTS)] as ChannelBody['events'],
      ...(typed.isSet('paused') && { paused: true }),
      ...(typed.isSet('answers') && { answers: true }),
      ...alertsOf(typed),
    }),
  ({ changed }, id) =>
    changed
      ? `Done. Read its secret: holdfast channel secret ${id}`
      : 'No change: it was so already',
);

/** Without a flag, the coordinator's default limits apply. */
function alertsOf(typed: Typed): Pick<ChannelBody, 'alerts'> {
  const alerts = present({
    deadLetters: integerText('dead-letters', typed.text('dead-letters'), 1),
    windowMs: durationText('window', typed.text('window')),
    queueAgeMs: durationText('queue-age', typed.text('queue-age')),
    noWorkersMs: durationText('no-workers', typed.text('no-workers')),
  });
  return Object.keys(alerts).length === 0 ? {} : { alerts };
}

const secretText = ({ secret, previous }: Awaited<ReturnType<Channels['secret']>>): string =>
  previous === undefined
    ? secret
    : `${secret}\n${previous.secret} is valid too, until ${previous.validUntil}`;

export const channelCommand: CommandSpec = commandOfVerbs(
  'channel',
  {
    ...{ list, put },
    secret: verb('secret <id>', (channels, id) => channels.secret(id), secretText),
    rotate: verb(
      'rotate <id> [--overlap 24h]',
      (channels, id, typed) =>
        channels.rotate(id, present({ overlapMs: durationText('overlap', typed.text('overlap')) })),
      secretText,
    ),
    test: verb(
      'test <id>',
      (channels, id) => channels.test(id),
      (result, id) => `${result.id}\nSee what became of it: holdfast channel log ${id}`,
    ),
    log,
    replay: verb(
      'replay <id> [--message <id>]',
      replayAll,
      ({ count }) => `${count} messages are pending again`,
    ),
    remove: verb(
      'remove <id>',
      (channels, id) => channels.remove(id),
      ({ kind }) => (kind === 'done' ? 'Done' : 'No change: there was no such channel'),
    ),
  },
  FLAGS,
);

async function replayAll(
  channels: Channels,
  id: string,
  typed: Typed,
): Promise<{ readonly count: number }> {
  const message = typed.text('message');
  if (message !== undefined) return channels.replay(id, { message });
  let count = 0;
  for (;;) {
    const { count: more } = await channels.replay(id);
    if (more === 0) return { count };
    count += more;
  }
}
