// The updates that an execution received, with their replies, and the values that it published.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { StoredReply } from '../../../src/features/updates/model.ts';
import type { ExecutionInFull, HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { callBytes, pathOf } from '../api/call.ts';
import { LIVE, useRead } from '../api/reads.ts';
import { publishedIn, type ReceivedUpdate, updatesIn } from '../model/events.ts';
import { ENDED } from '../model/statuses.ts';
import { JsonView } from '../parts/json.tsx';
import { MsTime } from '../parts/marks.tsx';
import { Empty, ProblemNote } from '../parts/notes.tsx';

/** Each one costs a request. */
const SHOWN_MAX = 20;

interface UpdatesProps {
  readonly execution: ExecutionInFull;
  readonly events: readonly HistoryMessage[];
}

export function Updates({ execution, events }: UpdatesProps): ReactNode {
  const updates = updatesIn(events);
  const published = [...publishedIn(events)];
  if (updates.length + published.length === 0) {
    return (
      <Empty title="No updates and no published values">
        <p>An update appears here when the code receives it.</p>
      </Empty>
    );
  }
  return (
    <>
      <Group title="Published values" items={published}>
        {([name, at]) => <Published key={name} id={execution.id} name={name} at={at} />}
      </Group>
      <Group title="Updates" items={updates}>
        {(update) => (
          <Received
            key={update.reply}
            execution={execution}
            update={update}
            label={`${updates.indexOf(update) + 1}: ${update.name}`}
          />
        )}
      </Group>
    </>
  );
}

interface GroupProps<Item> {
  readonly title: string;
  readonly items: readonly Item[];
  readonly children: (item: Item) => ReactNode;
}

function Group<Item>({ title, items, children }: GroupProps<Item>): ReactNode {
  if (items.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {items.length > SHOWN_MAX ? (
        <p className="about">
          The last {SHOWN_MAX} of {items.length}. The history has all.
        </p>
      ) : null}
      <div className="values">{items.slice(-SHOWN_MAX).map(children)}</div>
    </section>
  );
}

interface PublishedProps {
  readonly id: string;
  readonly name: string;
  readonly at: string;
}

function Published({ id, name, at }: PublishedProps): ReactNode {
  const read = useRead(requestTo('GET /v1/executions/:id/published/:name', { id, name }));
  return (
    <section>
      <h4>
        {name}{' '}
        <span className="about">
          published at <MsTime at={at} />
        </span>
      </h4>
      <ProblemNote error={read.error} />
      {read.data === undefined ? null : read.data.sealed === true ? (
        <Unreadable />
      ) : (
        <JsonView value={read.data.value ?? null} label={`Value of ${name}`} />
      )}
    </section>
  );
}

interface ReceivedProps {
  readonly execution: ExecutionInFull;
  readonly update: ReceivedUpdate;
  /** Number and name, because several updates can have one name. */
  readonly label: string;
}

function Received({ execution: { id, status }, update, label }: ReceivedProps): ReactNode {
  const { name, at, value, reply, repliedAt } = update;
  return (
    <section>
      <h4>
        {name}{' '}
        <span className="about">
          received at <MsTime at={at} />
        </span>
      </h4>
      <JsonView value={value ?? null} label={`Update ${label}`} />
      {repliedAt === undefined ? (
        <p className="about">{ENDED.has(status) ? 'Ended without a reply' : 'No reply yet'}</p>
      ) : (
        <Reply id={id} name={reply} at={repliedAt} label={`Reply ${label}`} />
      )}
    </section>
  );
}

interface ReplyProps extends PublishedProps {
  readonly label: string;
}

function Reply({ id, name, at, label }: ReplyProps): ReactNode {
  const request = requestTo('GET /v1/executions/:id/attachments/:name', { id, name });
  const { data, error } = useQuery<StoredReply, Error>({
    queryKey: [pathOf(request)],
    queryFn: async ({ signal }) => JSON.parse(await (await callBytes(request, { signal })).text()),
    meta: LIVE,
  });
  return (
    <>
      <p className="about">
        {data !== undefined && 'rejected' in data ? `Rejected: ${data.rejected}` : 'Replied'} at{' '}
        <MsTime at={at} />
      </p>
      <ProblemNote error={error} />
      {data === undefined || 'rejected' in data ? null : isPlain(data.out) ? (
        <JsonView value={data.out.v ?? null} label={label} />
      ) : (
        <Unreadable />
      )}
    </>
  );
}

/** Neither encrypted nor large nor erased. */
function isPlain(out: object): out is { readonly v?: unknown } {
  return !('by' in out) && !('ref' in out);
}

function Unreadable(): ReactNode {
  return <p className="about">The value is encrypted, too large to show, or erased.</p>;
}
