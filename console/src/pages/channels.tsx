// Channels, and whether their endpoints receive what they announce.

import type { ReactNode } from 'react';
import type { ChannelMessage } from '../../../src/features/channels/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { usePages } from '../api/reads.ts';
import { Status, Until } from '../parts/marks.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { PageList, readText } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';

const COLUMNS: readonly Column<ChannelMessage>[] = [
  {
    title: 'Channel',
    width: 'minmax(8rem, 1fr)',
    cell: ({ id }) => <Link to={`/channels/${id}`}>{id}</Link>,
  },
  { title: 'Status', width: '9rem', cell: (channel) => <ChannelStatus channel={channel} /> },
  { title: 'Kind', isWide: true, width: '6rem', cell: ({ kind }) => kind },
  {
    title: 'URL',
    width: 'minmax(10rem, 2fr)',
    cell: ({ url }) => <span title={url}>{url}</span>,
  },
  {
    title: 'Events',
    isWide: true,
    width: 'minmax(10rem, 2fr)',
    cell: ({ events }) => <span title={events.join(', ')}>{events.join(', ')}</span>,
  },
];

export function ChannelsPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/channels', { limit: 100 }), { everyMs: 5_000 });
  return (
    <>
      <PageHead title="Channels" about={readText(pages, 'channel')} />
      <PageList
        label="Channels"
        columns={COLUMNS}
        pages={pages}
        empty={
          <Empty title="No channels">
            <p>
              A channel announces events to a webhook or a queue. Create one on a command line:{' '}
              <code>holdfast channel put orders --to https://example.com/hooks</code>.
            </p>
          </Empty>
        }
      />
    </>
  );
}

/** An open circuit: the last attempts failed, and nothing is sent until then. */
export function ChannelStatus({ channel }: { readonly channel: ChannelMessage }): ReactNode {
  const { paused, failures, openUntil } = channel;
  if (paused) return <Status status="paused" />;
  if (openUntil !== undefined) {
    return (
      <>
        <Status status="failing" />{' '}
        <span className="about">
          next attempt <Until at={openUntil} />
        </span>
      </>
    );
  }
  return <Status status={failures > 0 ? 'failing' : 'active'} />;
}
