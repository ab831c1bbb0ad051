// One channel: its delivery log, and the buttons that send messages again.

import type { ReactNode } from 'react';
import type { ChannelMessage, DeliveryMessage } from '../../../src/features/channels/messages.ts';
import { DELIVERY_STATES } from '../../../src/features/channels/model.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { usePages, useRead } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { OperationButton } from '../parts/dialog.tsx';
import { Status, Time, Until } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { PageList, readText } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { goWith, useLocation } from '../router.tsx';
import { ChannelStatus } from './channels.tsx';

export function ChannelPage({ id }: { readonly id: string }): ReactNode {
  const channel = useRead(requestTo('GET /v1/channels/:id', { id }), { everyMs: 5_000 });
  return (
    <>
      <PageHead title={id} about={channel.data?.url ?? ' '}>
        <TestButton id={id} />
        <ReplayFailedButton id={id} />
      </PageHead>
      <Shown of={channel} isEmpty={false} empty={null}>
        {channel.data === undefined ? null : <Facts channel={channel.data} />}
        <Log id={id} />
      </Shown>
    </>
  );
}

function Facts({ channel }: { readonly channel: ChannelMessage }): ReactNode {
  const { kind, events, failures } = channel;
  return (
    <p>
      <ChannelStatus channel={channel} /> {kind} · {events.join(', ')}
      {failures > 0 ? ` · ${plural(failures, 'failed attempt')} in a row` : null}
    </p>
  );
}

function Log({ id }: { readonly id: string }): ReactNode {
  const location = useLocation();
  const state = DELIVERY_STATES.find((each) => each === location.query.get('state'));
  const filter = state === undefined ? {} : { state };
  const request = requestTo('GET /v1/channels/:id/deliveries', { id, limit: 100, ...filter });
  const pages = usePages(request, { everyMs: 2_000 });
  return (
    <section aria-label="Delivery log">
      <div className="section-head">
        <h2>Delivery log</h2>
        <span className="about">{readText(pages, 'message')}</span>
        <label>
          State{' '}
          <select
            value={state ?? ''}
            onChange={(event) => goWith(location, { state: event.target.value })}
          >
            <option value="">all</option>
            {DELIVERY_STATES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </div>
      <PageList
        label="Messages"
        columns={columnsOf(id)}
        pages={pages}
        empty={
          <Empty title="No messages">
            <p>Messages appear here when something happens that the channel announces.</p>
          </Empty>
        }
      />
    </section>
  );
}

function columnsOf(id: string): readonly Column<DeliveryMessage>[] {
  return [
    { title: 'Time', width: '7.5rem', cell: ({ at }) => <Time at={at} /> },
    { title: 'Event', width: 'minmax(9rem, 1fr)', cell: ({ event }) => event },
    { title: 'Status', width: '7rem', cell: ({ state }) => <Status status={state} /> },
    {
      title: 'Message',
      isWide: true,
      width: 'minmax(9rem, 2fr)',
      cell: (delivery) => (
        <span className="mono" title={delivery.id}>
          {delivery.id}
        </span>
      ),
    },
    {
      title: 'Attempts',
      isWide: true,
      isNumber: true,
      width: '5.5rem',
      cell: ({ attempts }) => attempts,
    },
    {
      title: 'Last attempt',
      width: 'minmax(9rem, 2fr)',
      cell: (delivery) => <LastAttempt delivery={delivery} />,
    },
    {
      title: '',
      width: '7rem',
      cell: ({ id: message, state }) =>
        state === 'pending' ? null : <ReplayButton id={id} message={message} />,
    },
  ];
}

function LastAttempt({ delivery }: { readonly delivery: DeliveryMessage }): ReactNode {
  const { log, nextAt } = delivery;
  const last = log.at(-1);
  const text = last?.error ?? (last === undefined ? '' : `${last.status ?? 'sent'}, ${last.ms} ms`);
  return (
    <span title={text}>
      {text}
      {nextAt === undefined ? null : (
        <span className="about">
          {' '}
          next <Until at={nextAt} />
        </span>
      )}
    </span>
  );
}

interface OfMessage {
  readonly id: string;
  readonly message: string;
}

function ReplayButton({ id, message }: OfMessage): ReactNode {
  return (
    <OperationButton
      label="Replay…"
      className="quiet"
      ask={{
        title: 'Send the message again?',
        sentence: `${message} is sent again under the same id, so a receiver that has handled it can skip it.`,
        verb: 'Replay message',
        done: 'Message is pending again',
        needsReason: 'none',
        operation: () => requestTo('POST /v1/channels/:id/replay', { id, message }),
      }}
    />
  );
}

function ReplayFailedButton({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Replay failed…"
      ask={{
        title: `Replay failed messages of ${id}?`,
        sentence:
          'Up to 1,000 failed messages are sent again, oldest first, under the same ids. The circuit closes.',
        verb: 'Replay failed messages',
        done: 'Failed messages are pending again',
        needsReason: 'none',
        operation: () => requestTo('POST /v1/channels/:id/replay', { id }),
      }}
    />
  );
}

function TestButton({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Send test…"
      ask={{
        title: `Send a test message to ${id}?`,
        sentence: 'The endpoint gets one message with the event test.',
        verb: 'Send test message',
        done: 'Test message is written',
        needsReason: 'none',
        operation: () => requestTo('POST /v1/channels/:id/test', { id }),
      }}
    />
  );
}
