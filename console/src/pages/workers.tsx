// Sessions with the time they have left, what they hold, and the writes that were refused to those whose time was over.

import { type ReactNode, useState } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type {
  ListedLeaseMessage,
  SessionMessage,
  WorkerMessage,
} from '../../../src/protocol/messages/sessions.ts';
import { itemsOf, useMay, usePages, useRead } from '../api/reads.ts';
import { durationText, plural } from '../model/words.ts';
import { OperationButton } from '../parts/dialog.tsx';
import { ExecutionLink, Fence, Status, Time, useNow } from '../parts/marks.tsx';
import { AdminElsewhere, Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { type Column, LongTable, Table } from '../parts/table.tsx';
import { AdvicePanel } from './advice.tsx';

const POLL_MS = 1_000;
/** What a worker says of itself changes with a deploy. */
const WORKERS_MS = 5_000;

export function WorkersPage(): ReactNode {
  return (
    <>
      <PageHead title="Leases and workers" about="One heartbeat for everything a session holds" />
      <Sessions />
    </>
  );
}

function Sessions(): ReactNode {
  const { admin: mayEnd, adminElsewhere } = useMay();
  const read = usePages(requestTo('GET /v1/sessions', { limit: 200 }), { everyMs: POLL_MS });
  const workers = useRead(requestTo('GET /v1/workers', { limit: 200 }), { everyMs: WORKERS_MS });
  const byId = new Map(workers.data?.items.map((each) => [each.id, each]));
  const items = itemsOf(read);
  const now = useNow(200);
  const readAt = read.dataUpdatedAt;
  return (
    <>
      <section aria-label="Sessions">
        <h2>Sessions</h2>
        {adminElsewhere ? <AdminElsewhere /> : null}
        <Shown
          of={workers.isPending ? workers : read}
          isEmpty={read.data !== undefined && items.length === 0}
          empty={<NoWorkers />}
        >
          <ul className="sessions">
            {items.map((session) => (
              <SessionCard
                key={session.id}
                session={session}
                worker={byId.get(session.id)}
                sinceMs={Math.max(0, now - readAt)}
                mayEnd={mayEnd}
              />
            ))}
          </ul>
          <More pages={read} />
        </Shown>
      </section>
      {read.isPending ? null : <RefusedWrites />}
    </>
  );
}

function NoWorkers(): ReactNode {
  return (
    <Empty title="No session is open">
      <p>
        A worker opens one: <code>openWorker({'{ url, key, pipelines }'})</code> in your code, or{' '}
        <code>holdfast dev</code>.
      </p>
    </Empty>
  );
}

function SessionCard({
  session,
  worker,
  sinceMs,
  mayEnd,
}: {
  readonly session: SessionMessage;
  readonly worker: WorkerMessage | undefined;
  readonly sinceMs: number;
  readonly mayEnd: boolean;
}): ReactNode {
  const { id, owner, state, ttlMs, graceMs, slackMs, beatAt, pipelines, project } = session;
  const left = slackMs - sinceMs;
  const part = Math.max(0, Math.min(1, left / Math.max(1, ttlMs - graceMs)));
  return (
    <li className={`card session session-${state}`}>
      <div className="session-head">
        <strong title={id}>{owner}</strong>
        <Status status={state} />
      </div>
      <div className="slack" title="How long it may act without another heartbeat">
        <span
          className={part < 0.25 ? 'slack-bar slack-low' : 'slack-bar'}
          style={{ width: `${part * 100}%` }}
        />
      </div>
      <p className="about">
        {left > 0 ? `${durationText(left)} of slack` : `out of time since ${durationText(-left)}`},
        ttl {durationText(ttlMs)}, last beat <Time at={beatAt} />
      </p>
      <p className="about">
        {project === undefined ? 'embedded' : project}
        {pipelines === undefined ? '' : ` · ${pipelines.join(', ')}`}
        {worker?.release === undefined ? '' : ` · release ${worker.release}`}
      </p>
      {worker?.refused === undefined ? null : (
        <p className="problem">It gets nothing that is pinned. {worker.refused.detail}</p>
      )}
      {mayEnd && state !== 'ended' ? <EndButton id={id} owner={owner} /> : null}
    </li>
  );
}

function EndButton({ id, owner }: { readonly id: string; readonly owner: string }): ReactNode {
  return (
    <OperationButton
      label="End it…"
      className="quiet"
      ask={{
        title: `End the session of ${owner}`,
        sentence: 'What it holds is free for others at once. What it still writes is refused.',
        verb: 'End the session',
        isDanger: true,
        needsReason: true,
        operation: (reason) => requestTo('POST /v1/sessions/:id/end', { id, reason }),
      }}
    />
  );
}

const REFUSED: readonly Column<RefusedWriteMessage>[] = [
  { title: 'Last', width: '7.5rem', cell: ({ lastAt }) => <Time at={lastAt} /> },
  {
    title: 'Who wrote',
    width: 'minmax(7rem, 1fr)',
    cell: ({ owner }) => <span title={owner}>{owner}</span>,
  },
  { title: 'What', width: '6rem', cell: ({ verb }) => verb },
  { title: 'With', width: '6rem', cell: ({ fence }) => <Fence fence={fence} isOld /> },
  {
    title: 'Newest',
    width: '6rem',
    cell: ({ newest }) => (newest === undefined ? '' : <Fence fence={newest} />),
  },
  { title: 'Why', width: 'minmax(7rem, 1fr)', cell: ({ why }) => why },
  { title: 'Times', width: '4rem', isNumber: true, cell: ({ count }) => count },
  {
    title: 'Execution',
    width: '10.5rem',
    cell: ({ execution }) => <ExecutionLink id={execution} />,
  },
];

function RefusedWrites(): ReactNode {
  const read = useRead(requestTo('GET /v1/refused-writes', { limit: 50 }), {
    everyMs: 2_000,
  });
  const items = read.data?.items ?? [];
  return (
    <>
      <section aria-label="Refused writes">
        <h2>Refused writes</h2>
        <Shown
          of={read}
          isEmpty={read.data !== undefined && items.length === 0}
          empty={
            <p className="about">
              None. A worker that was frozen or cut off, and writes after another has taken over, is
              shown here with its old fence.
            </p>
          }
        >
          <p className="about">
            {plural(items.length, 'kind')} of late writes, none of which did any harm
          </p>
          <Table
            label="Refused writes"
            columns={REFUSED}
            items={items}
            keyOf={({ execution, session, verb, fence }) => `${execution}${session}${verb}${fence}`}
          />
        </Shown>
      </section>
      {read.isPending ? null : <AdvicePanel />}
      {read.isPending ? null : <Leases />}
    </>
  );
}

function Leases(): ReactNode {
  const { isOfAll, admin } = useMay();
  const [prefix, setPrefix] = useState('');
  const [asked, setAsked] = useState('');
  const pages = usePages(requestTo('GET /v1/leases', { prefix: asked, limit: 200 }), {
    everyMs: 2_000,
  });
  const items = itemsOf(pages);
  if (!isOfAll) return null;
  const columns = admin ? [...LEASES, ACTIONS] : LEASES;
  return (
    <section aria-label="Leases">
      <header className="section-head">
        <h2>Leases</h2>
        <form
          className="search"
          onSubmit={(event) => {
            event.preventDefault();
            setAsked(prefix.trim());
          }}
        >
          <input
            aria-label="Prefix of the key"
            placeholder="prefix of the key"
            value={prefix}
            onChange={(event) => setPrefix(event.target.value)}
          />
          <button type="submit">Look</button>
        </form>
      </header>
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={
          <p className="about">
            No key was ever granted here. The lease library grants them:
            session.acquire('invoice/7').
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
  { title: 'Fence', width: '7rem', cell: ({ fence }) => <Fence fence={fence} /> },
  { title: 'Holder', width: 'minmax(7rem, 1fr)', cell: ({ owner }) => owner },
  { title: 'Since', width: '7.5rem', cell: ({ since }) => <Time at={since} /> },
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
          sentence: 'Its holder is asked to stop within a minute. Then it is free for others.',
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
            'The term ends now. Its holder learns of it with its next heartbeat, and what it writes until then is refused.',
          verb: 'Revoke',
          isDanger: true,
          needsReason: true,
          operation: (reason) => requestTo('POST /v1/leases/:key/revoke', { ...term, reason }),
        }}
      />
    </span>
  );
}
