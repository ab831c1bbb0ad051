// The inspector beside the waterfall: the selected step with its error, output, attempts and logs, or the
// execution itself.

import { type ReactNode, useState } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import type {
  ExecutionInFull,
  HistoryMessage,
  ResultMessage,
} from '../../../src/protocol/messages/execution.ts';
import {
  type Body,
  bodyOf,
  type FailureBody,
  ownersOf,
  stepOf,
  titleOf,
  toneOf,
} from '../model/events.ts';
import { durationText } from '../model/words.ts';
import { JsonView } from '../parts/json.tsx';
import { Copy, ExecutionLink, Fence, MsTime } from '../parts/marks.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { RedriveFromButton } from './execution-operations.tsx';
import { REFUSED } from './waterfall-lines.tsx';

interface InspectorProps {
  readonly execution: ExecutionInFull;
  readonly result: ResultMessage | undefined;
  readonly events: readonly HistoryMessage[];
  readonly refused: readonly RefusedWriteMessage[];
  readonly chosen: string | undefined;
}

export function Inspector(props: InspectorProps): ReactNode {
  const { events, refused, chosen } = props;
  const event = events.find(({ seq }) => String(seq) === chosen);
  return (
    <aside className="card inspector" aria-label="Inspector">
      {chosen === REFUSED && refused.length > 0 ? (
        <RefusedDetails refused={refused} />
      ) : event === undefined ? (
        <ExecutionDetails {...props} />
      ) : (
        <CallDetails key={event.seq} execution={props.execution} events={events} event={event} />
      )}
    </aside>
  );
}

/** A part of the inspector. Parts without content are left out. */
type Part = readonly [name: string, content: ReactNode];

interface PartsProps {
  readonly title: ReactNode;
  readonly badge?: ReactNode;
  readonly parts: readonly (Part | undefined)[];
  readonly children?: ReactNode;
}

function Parts({ title, badge, parts, children }: PartsProps): ReactNode {
  const present = parts.filter((part) => part !== undefined);
  const names = present.map(([name]) => name);
  const [typed, setTyped] = useState<string>();
  const chosen = typed !== undefined && names.includes(typed) ? typed : (names[0] ?? '');
  return (
    <>
      <header className="inspector-head">
        <h2>{title}</h2>
        {badge}
      </header>
      {names.length === 0 ? (
        <p className="about">No values</p>
      ) : (
        <Tabs label="Inspector parts" names={names} chosen={chosen} onChoose={setTyped}>
          {present.find(([name]) => name === chosen)?.[1]}
        </Tabs>
      )}
      {children}
    </>
  );
}

function absentText({ erased }: InspectorProps['execution']): string {
  if (erased !== undefined) return 'Values were erased. Their digests are in the stored history.';
  return 'Payloads are encrypted. The coordinator has no codec for them.';
}

function ExecutionDetails({ execution, result, events }: InspectorProps): ReactNode {
  const failure = result?.failure;
  const isSealed = execution.sealed === true;
  return (
    <Parts
      title="Execution"
      parts={[
        failure === undefined ? undefined : ['Error', <ErrorView key="e" failure={failure} />],
        isSealed
          ? ['Input', <p key="s">{absentText(execution)}</p>]
          : ['Input', <JsonView key="i" value={execution.input ?? null} label="Input" />],
        result?.status === 'completed' && !isSealed
          ? ['Output', <JsonView key="o" value={result.output ?? null} label="Output" />]
          : undefined,
        logsPart(events),
      ]}
    >
      <p className="about">Select a row to see its error, output and attempts.</p>
    </Parts>
  );
}

interface CallProps {
  readonly events: readonly HistoryMessage[];
  readonly event: HistoryMessage;
}

interface CallDetailsProps extends CallProps {
  readonly execution: ExecutionInFull;
}

function CallDetails({ execution, events, event }: CallDetailsProps): ReactNode {
  const { key } = bodyOf(event);
  const own = key === undefined ? [event] : events.filter((each) => bodyOf(each).key === key);
  const attempts = own.filter(({ kind }) => kind === 'step-failed' || kind === 'step-completed');
  const body = bodyOf(event);
  const failure =
    body.failure ?? bodyOf(own.findLast((each) => bodyOf(each).failure) ?? event).failure;
  const out = bodyOf(own.at(-1) ?? event).out;
  return (
    <Parts
      title={<span className="mono">{stepOf(event) || titleOf(event)}</span>}
      badge={<span className={`tone tone-${toneOf(event)}`}>{titleOf(event)}</span>}
      parts={[
        failure === undefined ? undefined : ['Error', <ErrorView key="e" failure={failure} />],
        out === undefined ? undefined : ['Output', <JsonView key="o" value={out} label="Output" />],
        attempts.length === 0
          ? undefined
          : [`Attempts ${attempts.length}`, <Attempts key="a" attempts={attempts} />],
        logsPart(between(events, own)),
        [
          'Event',
          <JsonView key="v" value={event.body ?? null} label={`Payload of event ${event.seq}`} />,
        ],
      ]}
    >
      <CallFacts event={event} events={events} body={body} />
      {key === undefined || !isStep(key) ? null : (
        <RedriveFromButton execution={execution} call={key} step={stepOf(event)} />
      )}
    </Parts>
  );
}

/** Only steps: other calls depend on what was asked, spawned or waited for. */
function isStep(key: string): boolean {
  return key.startsWith('step:');
}

interface CallFactsProps extends CallProps {
  readonly body: Body;
}

function CallFacts({ event, events, body }: CallFactsProps): ReactNode {
  const owner = ownersOf(events).get(event.fence ?? 0);
  return (
    <p className="about inspector-facts">
      Event {event.seq} · <MsTime at={event.at} />
      {event.fence === undefined ? null : (
        <>
          {' · fence '}
          <Fence fence={event.fence} />
        </>
      )}
      {owner === undefined ? null : ` · ${owner}`}
      {body.tookMs === undefined ? null : ` · ran ${durationText(body.tookMs)}`}
      {body.key === undefined ? null : (
        <>
          <br />
          Call <code>{body.key}</code>
        </>
      )}
      {body.id === undefined ? null : (
        <>
          <br />
          Child <ExecutionLink id={body.id} />
        </>
      )}
    </p>
  );
}

export function ErrorView({ failure }: { readonly failure: FailureBody }): ReactNode {
  const { message, code, category, stack, location } = failure;
  return (
    <div className="error-view">
      <p>
        <strong>{message}</strong>
        <br />
        <span className="mono about">
          {[code, category, location].filter((each) => each !== undefined).join(' · ')}
        </span>
      </p>
      {stack === undefined ? null : (
        <>
          {/* biome-ignore-start lint/a11y: scrolling content must be reachable by keyboard */}
          <pre tabIndex={0} role="group" aria-label="Stack">
            {stack}
          </pre>
          {/* biome-ignore-end lint/a11y: see above */}
          <Copy text={stack} what="stack" />
        </>
      )}
    </div>
  );
}

function Attempts({ attempts }: { readonly attempts: readonly HistoryMessage[] }): ReactNode {
  return (
    <ol className="attempts">
      {attempts.map((event, index) => {
        const { attempt = index + 1, failure, retryInMs, tookMs } = bodyOf(event);
        return (
          <li key={event.seq}>
            <strong className={failure === undefined ? 'good' : 'bad'}>
              {attempt} {failure === undefined ? 'Succeeded' : 'Failed'}
            </strong>{' '}
            <MsTime at={event.at} />
            {tookMs === undefined ? null : ` · ${durationText(tookMs)}`}
            <br />
            <span className="about">
              {failure?.message}
              {retryInMs === undefined ? '' : ` Retried after ${durationText(retryInMs)}.`}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** The lines that were logged while the call was under way: from the settlement before it to its own. */
function between(
  events: readonly HistoryMessage[],
  own: readonly HistoryMessage[],
): readonly HistoryMessage[] {
  const first = own[0]?.seq ?? 0;
  const last = own.at(-1)?.seq ?? 0;
  const before = events.findLast(({ seq, kind }) => seq < first && kind !== 'progressed')?.seq ?? 0;
  return events.filter(({ seq }) => seq > before && seq <= last);
}

function logsPart(events: readonly HistoryMessage[]): Part | undefined {
  const lines = events.filter(({ kind }) => kind === 'progressed');
  if (lines.length === 0) return undefined;
  return [
    `Logs ${lines.length}`,
    <ol key="l" className="attempts">
      {lines.map((line) => (
        <li key={line.seq}>
          <MsTime at={line.at} /> <span className="mono">{bodyOf(line).log}</span>
        </li>
      ))}
    </ol>,
  ];
}

interface RefusedDetailsProps {
  readonly refused: readonly RefusedWriteMessage[];
}

function RefusedDetails({ refused }: RefusedDetailsProps): ReactNode {
  return (
    <>
      <header className="inspector-head">
        <h2>Late write refused</h2>
        <span className="tone tone-bad">Refused</span>
      </header>
      {refused.map((write) => (
        <div key={`${write.session}${write.verb}${write.fence}`} className="error-view">
          <p>
            <strong>{write.owner}</strong> wrote with fence <Fence fence={write.fence} isOld />
            {write.newest === undefined ? null : (
              <>
                ; the current fence was <Fence fence={write.newest} />
              </>
            )}
            . The store refused the write, and nothing was changed.
          </p>
          <p className="about">
            <MsTime at={write.lastAt} /> · {write.why}
            {write.count > 1 ? ` · ${write.count} times` : ''}
          </p>
        </div>
      ))}
    </>
  );
}
