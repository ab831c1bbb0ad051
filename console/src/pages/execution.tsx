// One execution: why it is not moving, its facts, timeline, history, payloads and actions.

import { type ReactNode, useEffect, useState } from 'react';
import type {
  ExecutionInFull,
  HistoryMessage,
  StoreProblemMessage,
} from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useHistory } from '../api/history.ts';
import { useRead } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import { actorText, countText, durationText, shortId, statusText } from '../model/words.ts';
import { type Fact, FactList } from '../parts/facts.tsx';
import { ExecutionLink, Fence, LinkedText, Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, ProblemNote, Shown, StoreProblemNote } from '../parts/notes.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Link } from '../router.tsx';
import { HistoryTable, isLog } from './execution-history.tsx';
import { ExecutionOperations, useRedriven } from './execution-operations.tsx';
import { Records, Related, Values } from './execution-parts.tsx';
import { TimelineView } from './execution-timeline.tsx';

export interface Explained {
  readonly code: string;
  readonly sentence: string;
  readonly advice?: string;
  readonly until?: string;
  readonly storeProblem?: StoreProblemMessage;
}

const POLL_MS = 1_500;

export function ExecutionPage({ id }: { readonly id: string }): ReactNode {
  // The live stream reports only that an execution may be ready or may have ended, so steps are polled.
  const [everyMs, setEveryMs] = useState<number | false>(POLL_MS);
  const read = useRead(
    requestTo('GET /v1/executions/:id', { id }),
    everyMs === false ? {} : { everyMs },
  );
  const explained = useRead(requestTo('GET /v1/executions/:id/explain', { id }), {
    everyMs: 5_000,
  });
  const history = useHistory(id, everyMs);
  const { data: execution } = read;
  const isEnded = execution !== undefined && ENDED.has(execution.status);
  useEffect(() => setEveryMs(isEnded ? false : POLL_MS), [isEnded]);
  const title = titleOf(execution);
  useEffect(() => {
    if (title !== undefined) document.title = title;
  }, [title]);
  if (read.error?.code === 'execution-archived') return <ArchivedNote id={id} />;
  return (
    <>
      <p className="crumb">
        <Link to="/executions">Executions</Link> / <span className="mono">{id}</span>
      </p>
      {execution === undefined ? (
        <PageHead title="Execution" about=" " />
      ) : (
        <PageHead
          title={execution.pipeline}
          about={<Status status={execution.status} holds={execution.holds} />}
        >
          <ExecutionOperations execution={execution} />
        </PageHead>
      )}
      <Shown of={read}>
        {execution === undefined ? null : (
          <>
            <Why explained={explained.data} error={explained.error} />
            <Facts execution={execution} />
            <TimelineView events={history.events} />
            <Parts execution={execution} events={history.events} isComplete={history.isComplete} />
          </>
        )}
      </Shown>
    </>
  );
}

/** The browser title, which tells tabs apart. */
function titleOf(execution: ExecutionInFull | undefined): string | undefined {
  if (execution === undefined) return undefined;
  const { pipeline, key, id, status } = execution;
  return `${pipeline} ${key ?? shortId(id)} – ${statusText(status)} · Holdfast`;
}

function ArchivedNote({ id }: { readonly id: string }): ReactNode {
  return (
    <>
      <PageHead title="Archived" about={<span className="mono">{id}</span>} />
      <Empty title="This execution was archived">
        <p>
          <Link to={`/archive/${id}`}>Open it in the archive</Link>
        </p>
      </Empty>
    </>
  );
}

function Why({
  explained,
  error,
}: {
  readonly explained: Explained | undefined;
  readonly error: unknown;
}): ReactNode {
  if (explained === undefined)
    return error === null ? <p className="why"> </p> : <ProblemNote error={error} />;
  return (
    <>
      <p className={`why why-${explained.code}`} role="status">
        <strong>
          <LinkedText text={explained.sentence} />
        </strong>{' '}
        {explained.advice}
      </p>
      <StoreProblemNote by={explained.storeProblem} />
    </>
  );
}

function Facts({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { submittedAt, submittedBy, endedAt, deadlineAt, fence, key, lane, template, release } =
    execution;
  const redrivenBy = useRedriven(execution);
  const took = endedAt === undefined ? undefined : Date.parse(endedAt) - Date.parse(submittedAt);
  const facts: readonly Fact[] = [
    ['Submitted', <Time key="at" at={submittedAt} />],
    ...(submittedBy === undefined ? [] : [['Submitted by', actorText(submittedBy)] as const]),
    ...(took === undefined ? [] : [['Duration', durationText(took)] as const]),
    ...(fence === undefined ? [] : [['Fence', <Fence key="fence" fence={fence} />] as const]),
    ['Lane', lane],
    ...(redrivenBy === undefined
      ? []
      : [['Re-driven as', <ExecutionLink key="again" id={redrivenBy} />] as const]),
    ...(key === undefined ? [] : [['Idempotency key', key] as const]),
    ...(release === undefined
      ? []
      : [['Release', <ReleaseLink key="release" execution={execution} />] as const]),
    ...(template === undefined
      ? []
      : [['Template', `${template.id} (v${template.version})`] as const]),
    ...(deadlineAt === undefined
      ? []
      : [['Deadline', <Time key="due" at={deadlineAt} />] as const]),
    ...(execution.tags.length === 0 ? [] : [['Tags', execution.tags.join(', ')] as const]),
    ...Object.entries(execution.attributes).map(([name, value]) => [name, String(value)] as const),
  ];
  return <FactList facts={facts} id={execution.id} />;
}

function ReleaseLink({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { pipeline, release = '' } = execution;
  const query = new URLSearchParams({ release }).toString();
  return <Link to={`/releases/${encodeURIComponent(pipeline)}?${query}`}>{release}</Link>;
}

const TABS = ['History', 'Log', 'Input & output', 'Related', 'Activity'] as const;

function Parts({
  execution,
  events,
  isComplete,
}: {
  readonly execution: ExecutionInFull;
  readonly events: readonly HistoryMessage[];
  readonly isComplete: boolean;
}): ReactNode {
  const [tab, setTab] = useState<(typeof TABS)[number]>('History');
  const isEnded = ENDED.has(execution.status);
  const result = useRead(requestTo('GET /v1/executions/:id/result', { id: execution.id }), {
    isEnabled: isEnded,
  });
  return (
    <section className="card">
      <Tabs
        label="Execution details"
        names={TABS}
        chosen={tab}
        onChoose={setTab}
        beside={{
          History: (
            <span className="count">
              {countText(events.length)}
              {isComplete ? '' : '…'}
            </span>
          ),
        }}
      >
        {tab === 'History' ? <HistoryTable events={events} /> : null}
        {tab === 'Log' ? <HistoryTable events={events.filter(isLog)} empty="No log lines" /> : null}
        {tab === 'Input & output' ? <Values execution={execution} result={result.data} /> : null}
        {tab === 'Related' ? <Related execution={execution} /> : null}
        {tab === 'Activity' ? <Records id={execution.id} /> : null}
      </Tabs>
    </section>
  );
}
