// Input and output, related executions and activity of one execution.

import type { ReactNode } from 'react';
import type {
  ExecutionInFull,
  HistoryMessage,
  ResultMessage,
} from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { type Child, useChildren } from '../api/children.ts';
import { itemsOf, useRead } from '../api/reads.ts';
import { bodyOf } from '../model/events.ts';
import { actionText, actorText, countedText, durationText } from '../model/words.ts';
import { JsonView } from '../parts/json.tsx';
import { LongTable } from '../parts/long-table.tsx';
import { ExecutionLink, Fence, MsTime, Status, Time } from '../parts/marks.tsx';
import { Empty, Shown } from '../parts/notes.tsx';
import type { Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';

export function Values({
  execution,
  result,
}: {
  readonly execution: ExecutionInFull;
  readonly result: ResultMessage | undefined;
}): ReactNode {
  if (execution.erased !== undefined) {
    return (
      <Empty title="Values were erased">
        <p>Steps, times and digests are still there.</p>
      </Empty>
    );
  }
  if (execution.sealed === true) {
    return (
      <Empty title="Payloads cannot be decoded">
        <p>The coordinator lacks their codec, or they are too large.</p>
      </Empty>
    );
  }
  const shown: readonly (readonly [string, unknown])[] = [
    ['Input', execution.input ?? null],
    ...(execution.progress === undefined ? [] : [['Progress', execution.progress] as const]),
    ...(execution.heartbeats === undefined
      ? []
      : [['Last heartbeats of running steps', execution.heartbeats] as const]),
    ...(result?.status === 'completed' ? [['Output', result.output ?? null] as const] : []),
    ...(result?.failure === undefined ? [] : [['Failure', result.failure] as const]),
  ];
  return (
    <div className="values">
      {shown.map(([name, value]) => (
        <section key={name}>
          <h3>{name}</h3>
          <JsonView value={value} label={name} />
        </section>
      ))}
    </div>
  );
}

export function isLog({ kind }: HistoryMessage): boolean {
  return kind === 'progressed';
}

export function LogLines({ events }: { readonly events: readonly HistoryMessage[] }): ReactNode {
  if (events.length === 0) return <Empty title="No log lines" />;
  return (
    <ol className="relatives">
      {events.map((event) => (
        <li key={event.seq}>
          <MsTime at={event.at} /> <span className="mono">{bodyOf(event).log}</span>
        </li>
      ))}
    </ol>
  );
}

const CHILDREN: readonly Column<Child>[] = [
  { title: 'Child', width: '10.5rem', cell: ({ id }) => <ExecutionLink id={id} /> },
  {
    title: 'Pipeline',
    width: 'minmax(9rem, 1fr)',
    cell: ({ pipeline }) => <span title={pipeline}>{pipeline}</span>,
  },
  { title: 'Status', width: 'minmax(8rem, 1fr)', cell: ({ status }) => <Status status={status} /> },
];

export function Related({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { id, parent, redriveOf, lineage } = execution;
  const children = useChildren(id);
  const above: readonly (readonly [string, string])[] = [
    ...(parent === undefined ? [] : [['Parent', parent] as const]),
    ...(redriveOf === undefined ? [] : [['Re-drive of', redriveOf] as const]),
    ...(lineage === id ? [] : [['First run', lineage] as const]),
  ];
  const below = itemsOf(children);
  return (
    <Shown
      of={children}
      isEmpty={children.data !== undefined && above.length + below.length === 0}
      empty={<Empty title="No related executions" />}
    >
      <ul className="relatives">
        {above.map(([what, other]) => (
          <li key={what}>
            <span className="about">{what}</span> <ExecutionLink id={other} />
          </li>
        ))}
      </ul>
      {below.length === 0 ? null : (
        <>
          <h3>
            {countedText(
              { count: below.length, hasMore: children.hasNextPage },
              'child',
              'children',
            )}
          </h3>
          <p className="actions">
            <Link to={`/executions?parent=${id}`}>Show in Executions</Link>
            <Link to={`/executions?parent=${id}&status=failed&status=quarantined`}>
              Only failed ones
            </Link>
          </p>
          <LongTable
            label="Children"
            columns={CHILDREN}
            items={below}
            keyOf={(child) => child.id}
            pages={children}
          />
        </>
      )}
    </Shown>
  );
}

interface RecordsProps {
  readonly execution: ExecutionInFull;
  readonly redrivenBy: string | undefined;
}

/** The line of a re-drive: of this execution, or the one that created it. Jobs write no audit record for it. */
function RedriveLine({ id, text, other }: { id: string; text: string; other: string }): ReactNode {
  const request = requestTo('GET /v1/executions/:id/history', { id, limit: 1 });
  const [submitted] = useRead(request).data?.items ?? [];
  if (submitted === undefined) return null;
  const { by, reason } = bodyOf(submitted);
  return (
    <li>
      <Time at={submitted.at} /> <strong>{text}</strong> <ExecutionLink id={other} />
      {by === undefined ? null : ` by ${actorText(by)}`} <span className="about">{reason}</span>
    </li>
  );
}

export function Records({ execution, redrivenBy }: RecordsProps): ReactNode {
  const { id, redriveOf } = execution;
  const audit = useRead(requestTo('GET /v1/audit', { execution: id }));
  const refused = useRead(requestTo('GET /v1/refused-writes', { execution: id }), {
    everyMs: 3_000,
  });
  // Re-drives have lines of their own, with the other execution.
  const operations = (audit.data?.items ?? []).filter(
    ({ action }) => action !== 'redrive' || redrivenBy === undefined,
  );
  const redrives = [redriveOf, redrivenBy].filter((each) => each !== undefined);
  const writes = refused.data?.items ?? [];
  return (
    <Shown
      of={audit}
      isEmpty={
        audit.data !== undefined && operations.length + writes.length + redrives.length === 0
      }
      empty={<Empty title="No operator actions and no refused writes" />}
    >
      <ul className="relatives">
        {redrivenBy === undefined ? null : (
          <RedriveLine id={redrivenBy} text="Re-driven as" other={redrivenBy} />
        )}
        {redriveOf === undefined ? null : (
          <RedriveLine id={id} text="Re-drive of" other={redriveOf} />
        )}
        {writes.map((write) => (
          <li key={`${write.session}${write.verb}${write.fence}`}>
            <Time at={write.lastAt} /> <strong className="bad">Write refused:</strong> {write.owner}{' '}
            wrote with fence <Fence fence={write.fence} isOld />
            {write.newest === undefined ? null : (
              <>
                , current is <Fence fence={write.newest} />
              </>
            )}{' '}
            <span className="about">
              ({write.why}
              {write.lateMs === undefined ? '' : `, ${durationText(write.lateMs)} late`}
              {write.transport === undefined ? '' : `, over ${write.transport}`}
              {write.count > 1 ? `, ${write.count} times` : ''})
            </span>
          </li>
        ))}
        {operations.map((operation) => (
          <li key={operation.id}>
            <Time at={operation.at} /> <strong>{actionText(operation.action)}</strong> by{' '}
            {actorText(operation.actor)} <span className="about">{operation.reason}</span>
          </li>
        ))}
      </ul>
    </Shown>
  );
}
