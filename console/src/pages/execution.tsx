// One execution: why it does not progress, its facts, timeline, history, payloads and actions.

import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import type { Count } from '../../../src/features/overview/model.ts';
import type {
  ExecutionInFull,
  HistoryMessage,
  ResultMessage,
  StoreProblemMessage,
} from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { type FullHistory, useHistory } from '../api/history.ts';
import { type Read, useMay, useRead } from '../api/reads.ts';
import { cappedText } from '../model/attention.ts';
import { ownersOf } from '../model/events.ts';
import { ENDED, severityOf } from '../model/statuses.ts';
import { splitOf, waterfallOf } from '../model/waterfall.ts';
import {
  actorText,
  childIn,
  countText,
  durationText,
  shortId,
  statusText,
} from '../model/words.ts';
import { erasedFacts, type Fact, FactList } from '../parts/facts.tsx';
import { ExecutionLink, Fence, LinkedText, Status, Time, Until } from '../parts/marks.tsx';
import { Empty, PageHead, ProblemNote, Shown, StoreProblemNote } from '../parts/notes.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { go, goWith, Link, useLocation } from '../router.tsx';
import { HistoryTable } from './execution-history.tsx';
import { Inspector } from './execution-inspector.tsx';
import { ExecutionOperations, useDeadLetter } from './execution-operations.tsx';
import { isLog, LogLines, Records, Related, Values } from './execution-parts.tsx';
import { Updates } from './execution-updates.tsx';
import { WaterfallView } from './execution-waterfall.tsx';

export interface Explained {
  readonly code: string;
  readonly sentence: string;
  readonly advice?: string;
  readonly until?: string;
  readonly storeProblem?: StoreProblemMessage;
}

const POLL_MS = 1_500;

/** Finds the execution that has a key, and goes to its page. */
export function KeyedExecutionPage({ id: ref }: { readonly id: string }): ReactNode {
  const { data, error, isPending } = useRead(requestTo('GET /v1/executions/:id', { id: ref }));
  const id = data?.id;
  useEffect(() => {
    if (id !== undefined) go(`/executions/${id}`, 'replace');
  }, [id]);
  return (
    <>
      <PageHead title="Execution" />
      <Shown of={{ error, isPending }}>{null}</Shown>
    </>
  );
}

export function ExecutionPage({ id }: { readonly id: string }): ReactNode {
  const loaded = useExecution(id);
  const { read, explained, isLoading } = loaded;
  // All at once: each part that came later would move the parts below it.
  const execution = isLoading ? undefined : read.data;
  const title = titleOf(execution);
  useEffect(() => {
    if (title !== undefined) document.title = title;
  }, [title]);
  if (read.error?.code === 'execution-archived') return <ArchivedNote id={id} />;
  return (
    <>
      <p className="crumb">
        <Link to="/executions">Executions</Link> /{' '}
        {execution === undefined ? null : (
          <>
            <Link to={`/executions?pipeline=${encodeURIComponent(execution.pipeline)}`}>
              {execution.pipeline}
            </Link>{' '}
            /{' '}
          </>
        )}
        <span className="mono">{id}</span>
      </p>
      {execution === undefined ? (
        <PageHead title="Execution" />
      ) : (
        <PageHead
          title={execution.pipeline}
          beside={
            <>
              <Status status={execution.status} holds={execution.holds} />
              {knownAs(execution) === undefined ? null : (
                <span className="mono about">{knownAs(execution)}</span>
              )}
            </>
          }
        >
          <ExecutionOperations execution={execution} />
        </PageHead>
      )}
      <Shown of={{ error: read.error, isPending: isLoading }}>
        {execution === undefined ? null : (
          <>
            <Why
              explained={explained.data}
              error={explained.error}
              execution={execution}
              others={loaded.others}
            />
            <Facts execution={execution} events={loaded.history.events} />
            <Details execution={execution} loaded={loaded} />
          </>
        )}
      </Shown>
    </>
  );
}

interface Loaded {
  readonly read: Read<ExecutionInFull>;
  readonly explained: Read<Explained>;
  readonly history: FullHistory;
  readonly refused: readonly RefusedWriteMessage[];
  readonly result: ResultMessage | undefined;
  readonly others: Others | undefined;
  readonly isLoading: boolean;
}

/** Other executions that failed with the same code. */
interface Others extends Count {
  readonly code: string;
}

/** Everything that the page shows at first. */
function useExecution(id: string): Loaded {
  // The live stream reports only that an execution may be ready or may have ended, so steps are polled.
  const [everyMs, setEveryMs] = useState<number | false>(POLL_MS);
  const read = useRead(
    requestTo('GET /v1/executions/:id', { id }),
    everyMs === false ? {} : { everyMs },
  );
  const status = read.data?.status;
  const isEnded = status !== undefined && ENDED.has(status);
  useEffect(() => setEveryMs(isEnded ? false : POLL_MS), [isEnded]);
  const { operate } = useMay();
  const history = useHistory(id, everyMs);
  const explained = useRead(requestTo('GET /v1/executions/:id/explain', { id }), {
    everyMs: EXPLAIN_MS,
  });
  const writes = useRead(requestTo('GET /v1/refused-writes', { execution: id }), {
    ...{ everyMs: REFUSED_MS, isEnabled: operate },
  });
  const result = useRead(requestTo('GET /v1/executions/:id/result', { id }), {
    isEnabled: isEnded,
  });
  const letter = useDeadLetter(id, status);
  const code = letter.data?.code;
  const same = useRead(requestTo('GET /v1/executions/count', { code: code ?? '' }), {
    isEnabled: code !== undefined,
  });
  const others = same.data === undefined ? 0 : same.data.count - 1;
  const reads = [read, explained, history, writes, result, letter, same];
  const [isLoaded, setLoaded] = useState(false);
  // Only at first: the result of an execution that ends later arrives in a page that is shown.
  const isLoading = !isLoaded && reads.some((each) => each.isLoading);
  if (isLoaded === isLoading) setLoaded(!isLoading);
  return {
    ...{ read, explained, history, isLoading, result: result.data },
    refused: writes.data?.items ?? NO_WRITES,
    others:
      code === undefined || others < 1
        ? undefined
        : { code, count: others, capped: same.data?.capped === true },
  };
}

const EXPLAIN_MS = 5_000;
const REFUSED_MS = 3_000;
const NO_WRITES: readonly RefusedWriteMessage[] = [];

/** The key that people know it by. A re-drive leaves it to the first execution. */
function knownAs({ key, lineageKey }: ExecutionInFull): string | undefined {
  return key ?? lineageKey;
}

/** The browser title, which tells tabs apart. */
function titleOf(execution: ExecutionInFull | undefined): string | undefined {
  if (execution === undefined) return undefined;
  const { pipeline, id, status } = execution;
  return `${pipeline} ${knownAs(execution) ?? shortId(id)} – ${statusText(status)} · Holdfast`;
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

interface WhyProps {
  readonly explained: Explained | undefined;
  readonly error: unknown;
  readonly execution: ExecutionInFull;
  readonly others: Others | undefined;
}

function Why({ explained, error, execution, others }: WhyProps): ReactNode {
  if (explained === undefined) return <ProblemNote error={error} />;
  const { id, status } = execution;
  const child = childIn(explained.sentence);
  return (
    <>
      <p className={`why why-${severityOf(status, explained.code)}`} role="status">
        <strong>
          <LinkedText text={explained.sentence} />
        </strong>{' '}
        {explained.advice}
        {others === undefined ? null : (
          <>
            {' '}
            <Link to={`/executions?code=${encodeURIComponent(others.code)}`}>
              {cappedText(others, 'other execution')} with this cause
            </Link>
          </>
        )}
        {explained.code === 'waiting-for-answer' ? <RequestLink id={id} /> : null}
        {child === undefined ? null : (
          <>
            {' '}
            <Link to={`/executions/${child}`}>Open the child</Link>
          </>
        )}
      </p>
      <StoreProblemNote by={explained.storeProblem} />
    </>
  );
}

/** The first open request of the execution, in the inbox. */
function RequestLink({ id }: { readonly id: string }): ReactNode {
  const { data } = useRead(requestTo('GET /v1/awaits', { execution: id, limit: 1 }));
  const [request] = data?.items ?? [];
  if (request === undefined) return null;
  return (
    <>
      {' '}
      <Link to={`/inbox?await=${encodeURIComponent(request.id)}`}>Open the request</Link>
    </>
  );
}

interface FactsProps {
  readonly execution: ExecutionInFull;
  readonly events: readonly HistoryMessage[];
}

function Facts({ execution, events }: FactsProps): ReactNode {
  const { submittedAt, submittedBy, endedAt, deadlineAt, fence, lane, template, release } =
    execution;
  const redrivenBy = useDeadLetter(execution.id, execution.status).data?.redrivenBy;
  const worker = [...ownersOf(events).values()].at(-1);
  const took = endedAt === undefined ? undefined : Date.parse(endedAt) - Date.parse(submittedAt);
  const facts: readonly Fact[] = [
    [
      'Submitted',
      <span key="at">
        <Time at={submittedAt} />{' '}
        <span className="about">
          · <Until at={submittedAt} />
        </span>
      </span>,
    ],
    ...(submittedBy === undefined ? [] : [['Submitted by', actorText(submittedBy)] as const]),
    ...(took === undefined
      ? []
      : [['Duration', <Duration key="took" ms={took} events={events} />] as const]),
    ...(worker === undefined
      ? []
      : [['Worker', <FilterLink key="worker" name="worker" value={worker} />] as const]),
    ...(fence === undefined ? [] : [['Fence', <Fence key="fence" fence={fence} />] as const]),
    ['Lane', lane],
    ...(redrivenBy === undefined
      ? []
      : [['Re-driven as', <ExecutionLink key="again" id={redrivenBy} />] as const]),
    ...(release === undefined
      ? []
      : [['Release', <ReleaseLink key="release" execution={execution} />] as const]),
    ...(template === undefined
      ? []
      : [['Template', `${template.id} (v${template.version})`] as const]),
    ...erasedFacts(execution.erased),
    ...(deadlineAt === undefined
      ? []
      : [['Deadline', <Time key="due" at={deadlineAt} />] as const]),
    ...(execution.tags.length === 0
      ? []
      : [
          [
            'Tags',
            <span key="tags" className="actions">
              {execution.tags.map((tag) => (
                <FilterLink key={tag} name="tag" value={tag} />
              ))}
            </span>,
          ] as const,
        ]),
    ...Object.entries(execution.attributes).map(
      ([name, value]) => [name, <AttributeLink key="of" name={name} value={value} />] as const,
    ),
  ];
  return <FactList facts={facts} id={execution.id} />;
}

interface FilterLinkProps {
  readonly name: 'worker' | 'tag' | 'where';
  readonly value: string;
  readonly text?: string;
}

/** Leads to the other executions that have it. */
function FilterLink({ name, value, text = value }: FilterLinkProps): ReactNode {
  return <Link to={`/executions?${new URLSearchParams({ [name]: value })}`}>{text}</Link>;
}

interface AttributeProps {
  readonly name: string;
  readonly value: string | number | boolean;
}

/** A filter cannot name an attribute with an operator in it. */
function AttributeLink({ name, value }: AttributeProps): ReactNode {
  const text = String(value);
  if (/[=<>:"]/.test(name)) return text;
  const shown = typeof value === 'string' ? JSON.stringify(value) : text;
  return <FilterLink name="where" value={`${name}=${shown}`} text={text} />;
}

interface DurationProps {
  readonly ms: number;
  readonly events: readonly HistoryMessage[];
}

function Duration({ ms, events }: DurationProps): ReactNode {
  const parts = useMemo(() => splitOf(waterfallOf(events)), [events]);
  return (
    <>
      {durationText(ms)}{' '}
      <span className="about">
        {parts.map(([name, partMs]) => `${name} ${durationText(partMs)}`).join(' · ')}
      </span>
    </>
  );
}

function ReleaseLink({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { pipeline, release = '' } = execution;
  const query = new URLSearchParams({ release }).toString();
  return <Link to={`/releases/${encodeURIComponent(pipeline)}?${query}`}>{release}</Link>;
}

const TABS = ['History', 'Log', 'Input & output', 'Updates', 'Related', 'Activity'] as const;

type Tab = (typeof TABS)[number];

interface DetailsProps {
  readonly execution: ExecutionInFull;
  readonly loaded: Loaded;
}

/** The waterfall, the inspector and the tabs share the selected event, which is in the URL. */
function Details({ execution, loaded }: DetailsProps): ReactNode {
  const { history, refused, result } = loaded;
  const { events } = history;
  const location = useLocation();
  const chosen = location.query.get('event') ?? undefined;
  const onChoose = (event: string): void => goWith(location, { event }, { replace: true });
  const selection = { refused, chosen, onChoose };
  return (
    <>
      <div className="waterfall-split">
        <WaterfallView events={events} {...selection} />
        <Inspector
          execution={execution}
          result={result}
          events={events}
          refused={refused}
          chosen={chosen}
        />
      </div>
      <Parts execution={execution} history={history} result={result} {...selection} />
    </>
  );
}

interface PartsProps {
  readonly execution: ExecutionInFull;
  readonly history: FullHistory;
  readonly result: ResultMessage | undefined;
  readonly refused: readonly RefusedWriteMessage[];
  readonly chosen: string | undefined;
  readonly onChoose: (event: string) => void;
}

function Parts({ execution, history, result, ...selection }: PartsProps): ReactNode {
  const { events, isComplete } = history;
  const location = useLocation();
  const named = location.query.get('tab') as Tab | null;
  const tab = named !== null && TABS.includes(named) ? named : 'History';
  const logs = events.filter(isLog);
  const redrivenBy = useDeadLetter(execution.id, execution.status).data?.redrivenBy;
  return (
    <section className="card">
      <Tabs
        label="Execution details"
        names={TABS}
        chosen={tab}
        onChoose={(name) => goWith(location, { tab: name === 'History' ? undefined : name })}
        beside={{
          History: (
            <span className="count">
              {countText(events.length)}
              {isComplete ? '' : '…'}
            </span>
          ),
          ...(logs.length === 0
            ? {}
            : { Log: <span className="count">{countText(logs.length)}</span> }),
        }}
      >
        {tab === 'History' ? <HistoryTable events={events} {...selection} /> : null}
        {tab === 'Log' ? <LogLines events={logs} /> : null}
        {tab === 'Input & output' ? <Values execution={execution} result={result} /> : null}
        {tab === 'Updates' ? <Updates execution={execution} events={events} /> : null}
        {tab === 'Related' ? <Related execution={execution} /> : null}
        {tab === 'Activity' ? <Records execution={execution} redrivenBy={redrivenBy} /> : null}
      </Tabs>
    </section>
  );
}
