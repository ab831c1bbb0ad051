// Workers: their sessions, load and heartbeats, and writes that were refused.

import type { ReactNode } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type { SessionMessage, WorkerMessage } from '../../../src/protocol/messages/sessions.ts';
import { itemsOf, useCommand, useMay, usePages, useRead } from '../api/reads.ts';
import { countText, durationText, plural, sentenceCase } from '../model/words.ts';
import { OperationButton } from '../parts/dialog.tsx';
import { HeatMap } from '../parts/heat-map.tsx';
import { ExecutionLink, Fence, Status, Time } from '../parts/marks.tsx';
import { AdminElsewhere, Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { useNow } from '../parts/now.ts';
import { type ChosenRange, RangeChoice, rangeIn } from '../parts/range-choice.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Link, useLocation } from '../router.tsx';

const POLL_MS = 1_000;
/** Workers announce pipelines and releases once, so they change only with a deploy. */
const WORKERS_MS = 5_000;

export function WorkersPage(): ReactNode {
  const location = useLocation();
  return (
    <>
      <PageHead title="Workers" about={`Sessions, their load, and refused writes. ${SLOTS}`}>
        <RangeChoice location={location} />
      </PageHead>
      <Sessions range={rangeIn(location)} />
    </>
  );
}

function Sessions({ range }: { readonly range: ChosenRange }): ReactNode {
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
      {/* Once the list is there, so that nothing below it moves. */}
      {read.isPending || workers.isPending ? null : (
        <HeatMap rangeMs={range.rangeMs} to={range.to}>
          <RefusedWrites />
        </HeatMap>
      )}
    </>
  );
}

function NoWorkers(): ReactNode {
  const command = useCommand();
  return (
    <Empty title="No sessions">
      <p>
        Start a worker: <code>openWorker({'{ url, key, pipelines }'})</code>, or run{' '}
        <code>{command} dev</code>.
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
  const { id, owner, state, ttlMs, graceMs, slackMs, beatAt, openedAt, pipelines, project } =
    session;
  const about = [
    ['Release', worker?.release],
    ['Host', session.host],
    ['Version', session.version],
  ] as const;
  const left = slackMs - sinceMs;
  const part = Math.max(0, Math.min(1, left / Math.max(1, ttlMs - graceMs)));
  return (
    <li className={`card session session-${state}`}>
      <div className="session-head">
        <strong title={id}>{owner}</strong>
        <Status status={state} />
      </div>
      <div className="slack" title="Time left before the lease expires">
        <span
          className={part < 0.25 ? 'slack-bar slack-low' : 'slack-bar'}
          style={{ width: `${part * 100}%` }}
        />
      </div>
      <p className="about">
        {left > 0 ? `Expires in ${durationText(left)}` : `Expired ${durationText(-left)} ago`} · TTL{' '}
        {durationText(ttlMs)} · last heartbeat <Time at={beatAt} />
      </p>
      <dl className="session-facts">
        <div>
          <dt>Busy slots</dt>
          {/* The worker announces its free slots now and then, so both need not add up. */}
          <dd title="Free slots: as the worker last announced them">
            {worker === undefined ? '–' : <BusyLink id={id} count={busyOf(worker)} />}
            {worker?.room === undefined ? '' : `, ${countText(worker.room)} free`}
          </dd>
        </div>
        <div>
          <dt>Up</dt>
          <dd>{durationText(Math.max(0, Date.now() - Date.parse(openedAt)))}</dd>
        </div>
        <div>
          <dt>Kind</dt>
          <dd>{worker === undefined ? 'Session' : KINDS[worker.kind]}</dd>
        </div>
        {about.map(([name, text]) =>
          text === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={text}>{text}</dd>
            </div>
          ),
        )}
      </dl>
      <p className="about">
        {project === undefined ? '' : `${project} · `}
        {pipelines === undefined ? 'Serves no pipelines' : pipelines.join(', ')}
      </p>
      {worker?.work === 'stuck' ? (
        <p className="problem">
          Its claim loop does not run, although the process lives. Check what blocks it, or restart
          it.
        </p>
      ) : null}
      {worker?.refused === undefined ? null : (
        <p className="problem">Not eligible for pinned executions. {worker.refused.detail}</p>
      )}
      {mayEnd && state !== 'ended' ? <EndButton id={id} owner={owner} /> : null}
    </li>
  );
}

function BusyLink({ id, count }: { readonly id: string; readonly count: number }): ReactNode {
  if (count === 0) return '0';
  return <Link to={`/executions?worker=${id}`}>{countText(count)}</Link>;
}

const SLOTS = 'A slot runs one execution. The concurrency of a worker is its number of slots.';

const KINDS: Readonly<Record<string, string>> = {
  remote: 'Remote worker',
  embedded: 'Embedded worker',
  coordinator: 'Coordinator',
};

function busyOf({ inFlight }: WorkerMessage): number {
  return Object.values(inFlight).reduce((sum, count) => sum + count, 0);
}

function EndButton({ id, owner }: { readonly id: string; readonly owner: string }): ReactNode {
  return (
    <OperationButton
      label="End session…"
      className="quiet"
      ask={{
        title: `End session ${owner}?`,
        sentence: 'Its leases are released immediately; any later write is refused.',
        verb: 'End session',
        isDanger: true,
        needsReason: true,
        operation: (reason) => requestTo('POST /v1/sessions/:id/end', { id, reason }),
      }}
    />
  );
}

const OPERATIONS: Readonly<Record<RefusedWriteMessage['verb'], string>> = {
  record: 'Step result',
  transact: 'Transaction',
  finish: 'End of execution',
  park: 'Wait',
  giveBack: 'Release',
};

const REFUSED: readonly Column<RefusedWriteMessage>[] = [
  { title: 'Last seen', isWide: true, width: '6rem', cell: ({ lastAt }) => <Time at={lastAt} /> },
  {
    title: 'Writer',
    width: 'minmax(6rem, 1.2fr)',
    cell: ({ owner }) => <span title={owner}>{owner}</span>,
  },
  { title: 'Operation', isWide: true, width: '8.5rem', cell: ({ verb }) => OPERATIONS[verb] },
  {
    title: 'Fence, current one',
    width: '9rem',
    cell: ({ fence, newest }) => (
      <>
        <Fence fence={fence} isOld />{' '}
        {newest === undefined ? null : (
          <>
            &lt; <Fence fence={newest} />
          </>
        )}
      </>
    ),
  },
  {
    title: 'Reason',
    isWide: true,
    width: 'minmax(5.5rem, 1fr)',
    cell: ({ why }) => sentenceCase(why),
  },
  {
    title: 'Late by',
    isWide: true,
    width: '4rem',
    isNumber: true,
    cell: ({ lateMs }) => (lateMs === undefined ? '' : durationText(lateMs)),
  },
  { title: 'Transport', isWide: true, width: '5.5rem', cell: ({ transport = '' }) => transport },
  { title: 'Count', isWide: true, width: '4rem', isNumber: true, cell: ({ count }) => count },
  {
    title: 'Execution',
    width: '9rem',
    cell: ({ execution }) => <ExecutionLink id={execution} />,
  },
];

function RefusedWrites(): ReactNode {
  const read = useRead(requestTo('GET /v1/refused-writes', { limit: 50 }), { everyMs: 2_000 });
  const items = read.data?.items ?? [];
  return (
    <section aria-label="Refused writes">
      <h2>Refused writes</h2>
      <Shown
        of={read}
        isEmpty={read.data !== undefined && items.length === 0}
        empty={
          <p className="about">
            None. If a worker was paused or partitioned and writes after its lease was taken over,
            the write appears here.
          </p>
        }
      >
        <p className="about">{plural(items.length, 'distinct late write')}, all refused</p>
        <Table
          label="Refused writes"
          columns={REFUSED}
          items={items}
          keyOf={({ execution, session, verb, fence }) => `${execution}${session}${verb}${fence}`}
        />
      </Shown>
    </section>
  );
}
