// Leases by key, with their holders, and the way to the TTL advisor.

import { type ReactNode, useState } from 'react';
import type { ListedLeaseMessage } from '../../../src/protocol/messages/leases.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, useMay, usePages } from '../api/reads.ts';
import { countedText } from '../model/words.ts';
import { OperationButton } from '../parts/dialog.tsx';
import { LongTable } from '../parts/long-table.tsx';
import { Fence, Status, Time } from '../parts/marks.tsx';
import { AdminElsewhere, Empty, PageHead, Shown } from '../parts/notes.tsx';
import type { Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';

export function LeasesPage(): ReactNode {
  const { isOfAll, adminElsewhere } = useMay();
  return (
    <>
      <PageHead title="Leases" about="Keys that a session holds, and the fence of each">
        <Link to="/leases/ttl">TTL advisor</Link>
      </PageHead>
      {adminElsewhere ? <AdminElsewhere /> : null}
      {isOfAll ? (
        <Leases />
      ) : (
        <Empty title="Leases are not project-scoped">
          <p>Sign in with a key for all projects to see them.</p>
        </Empty>
      )}
    </>
  );
}

function Leases(): ReactNode {
  const { admin } = useMay();
  const [typed, setTyped] = useState('');
  const [prefix, setPrefix] = useState('');
  const [isStale, setStale] = useState(false);
  const pages = usePages(
    requestTo('GET /v1/leases', { prefix, limit: 200, ...(isStale && { staleOwner: true }) }),
    {
      everyMs: 2_000,
    },
  );
  const items = itemsOf(pages);
  const columns = admin ? [...LEASES, ACTIONS] : LEASES;
  return (
    <section aria-label="Leases">
      <header className="section-head">
        <h2>
          {pages.data === undefined
            ? 'Leases'
            : countedText({ count: items.length, hasMore: pages.hasNextPage }, 'lease')}
        </h2>
        <label className={isStale ? 'chip chip-on' : 'chip'}>
          <input type="checkbox" checked={isStale} onChange={() => setStale(!isStale)} />
          Stale owner
        </label>
        <form
          className="search"
          onSubmit={(event) => {
            event.preventDefault();
            setPrefix(typed.trim());
          }}
        >
          <input
            aria-label="Key prefix"
            placeholder="Key prefix"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="submit">Search</button>
        </form>
      </header>
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={
          <p className="about">
            {isStale ? (
              'Every holder sends its heartbeats in time.'
            ) : prefix === '' ? (
              <>
                No leases yet. Acquire one with <code>session.acquire('invoice/7')</code>.
              </>
            ) : (
              'No lease has a key with this prefix.'
            )}
          </p>
        }
      >
        <LongTable
          label="Leases"
          columns={columns}
          items={items}
          keyOf={({ key }) => key}
          pages={pages}
        />
      </Shown>
    </section>
  );
}

const LEASES: readonly Column<ListedLeaseMessage>[] = [
  { title: 'Key', width: 'minmax(10rem, 2fr)', cell: ({ key }) => <span title={key}>{key}</span> },
  { title: 'State', width: '7rem', cell: ({ state }) => <Status status={state} /> },
  { title: 'Fence', isWide: true, width: '7rem', cell: ({ fence }) => <Fence fence={fence} /> },
  { title: 'Holder', width: 'minmax(7rem, 1fr)', cell: ({ owner }) => owner },
  { title: 'Since', isWide: true, width: '7.5rem', cell: ({ since }) => <Time at={since} /> },
];

const ACTIONS: Column<ListedLeaseMessage> = {
  title: 'Actions',
  width: '12rem',
  cell: ({ key, fence, state }) =>
    state === 'held' || state === 'draining' ? (
      <LeaseOperations leaseKey={key} fence={fence} />
    ) : (
      ''
    ),
};

const DRAIN_MS = 60_000;

function LeaseOperations({
  leaseKey,
  fence,
}: {
  readonly leaseKey: string;
  readonly fence: number;
}): ReactNode {
  const term = { key: leaseKey, fence };
  return (
    <span className="actions">
      <OperationButton
        label="Drain…"
        className="quiet"
        ask={{
          title: `Drain ${leaseKey}`,
          sentence: 'Asks the holder to stop within one minute, then releases the lease.',
          verb: 'Drain',
          needsReason: true,
          operation: (reason) =>
            requestTo('POST /v1/leases/:key/drain', { ...term, reason, deadlineMs: DRAIN_MS }),
        }}
      />
      <OperationButton
        label="Revoke…"
        className="quiet"
        ask={{
          title: `Revoke ${leaseKey}`,
          sentence:
            'Ends the lease now. The holder finds out at its next heartbeat; its writes are refused from now on.',
          verb: 'Revoke',
          isDanger: true,
          needsReason: true,
          operation: (reason) => requestTo('POST /v1/leases/:key/revoke', { ...term, reason }),
        }}
      />
    </span>
  );
}
