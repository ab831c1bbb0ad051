// Executions that need manual action: quarantined and blocked ones, and failing compensations.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from '../api/call.ts';
import { isLive, itemsOf, type Pages, useMay, usePages } from '../api/reads.ts';
import { cappedText } from '../model/attention.ts';
import { OPEN } from '../model/statuses.ts';
import { plural } from '../model/words.ts';
import { BulkButton } from '../parts/bulk.tsx';
import { Dialog, DialogActions, OperationButton, ReasonField, reasoned } from '../parts/dialog.tsx';
import { ExecutionLink, LinkedText, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { showToast } from '../parts/toast.tsx';
import { go, Link } from '../router.tsx';
import { CompensationOperations } from './compensation.tsx';

/** The event stream does not report executions that begin to wait. */
const POLL = { everyMs: 3_000 } as const;
/** More are on the page of executions. */
const SHOWN_MAX = 20;

const QUARANTINED = { status: ['quarantined'], redriven: false } as const;

export function QuarantinePage(): ReactNode {
  const quarantined = usePages(
    requestTo('GET /v1/executions', { ...QUARANTINED, limit: 200 }),
    POLL,
  );
  const blocked = usePages(requestTo('GET /v1/executions', { hold: 'blocked', limit: 200 }), POLL);
  const waiting = usePages(
    requestTo('GET /v1/executions', { status: ['waiting'], limit: 200 }),
    POLL,
  );
  const undoing = itemsOf(waiting).filter(({ compensating }) => compensating);
  const isNothing =
    itemsOf(quarantined).length + itemsOf(blocked).length + undoing.length === 0 &&
    ![quarantined, blocked, waiting].some(({ hasNextPage }) => hasNextPage);
  return (
    <>
      <PageHead title="Quarantine" about="Executions that need manual action" />
      <Shown
        of={quarantined}
        isEmpty={quarantined.data !== undefined && blocked.data !== undefined && isNothing}
        empty={<NothingHere />}
      >
        <Group
          title="Quarantined"
          about="A compensation failed for good, or the execution repeatedly ended the process of its worker. Fix the cause first."
          pages={quarantined}
          query="status=quarantined&redriven=false"
          bulk={<RedriveCauses pages={quarantined} />}
          operations={(each) => <QuarantinedOperations execution={each} />}
        />
        <Group
          title="Blocked"
          about="Their code does not match their history, threw outside of a step, or does not accept the input. The reason names the repair."
          pages={blocked}
          query="hold=blocked"
          bulk={<BlockedBulk pages={blocked} />}
          operations={({ id }) => <ResumeButton id={id} />}
        />
        <Group
          title="Compensation retrying"
          about="A compensation failed and will be retried. Retry it now or skip it."
          pages={waiting}
          items={undoing}
          query="status=waiting"
          operations={({ id }) => <CompensationOperations id={id} />}
        />
      </Shown>
    </>
  );
}

function NothingHere(): ReactNode {
  return (
    <Empty title="Nothing needs attention">
      <p>Quarantined and blocked executions, and compensations that fail, appear here.</p>
    </Empty>
  );
}

interface GroupProps {
  readonly title: string;
  readonly about: string;
  readonly pages: Pages<ExecutionMessage>;
  /** The items of the pages that are meant; by default all. */
  readonly items?: readonly ExecutionMessage[];
  /** The same executions on their own page. */
  readonly query: string;
  readonly bulk?: ReactNode;
  readonly operations: (execution: ExecutionMessage) => ReactNode;
}

function Group(props: GroupProps): ReactNode {
  const { title, about, pages, items = itemsOf(pages), query, bulk, operations } = props;
  const { operate } = useMay();
  if (items.length === 0 && (!pages.hasNextPage || props.items === undefined)) return null;
  const shown = items.slice(0, SHOWN_MAX);
  return (
    <section aria-label={title}>
      <header className="section-head">
        <h2>{title}</h2>
        {operate ? bulk : null}
      </header>
      <p className="about">
        {pages.hasNextPage && props.items === undefined
          ? `More than ${plural(items.length, 'execution')}`
          : plural(items.length, 'execution')}
        . {about}
      </p>
      <ul className="causes">
        {shown.map((each) => (
          <li key={each.id} className="card cause">
            <ExecutionLink id={each.id} text={each.key ?? each.lineageKey} />
            <span>{each.pipeline}</span>
            <Time at={each.endedAt ?? each.submittedAt} />
            <span className="about cause-reason">
              {each.failure?.message ?? <Why id={each.id} seq={each.seq} />}
            </span>
            <span className="actions">{operate ? operations(each) : null}</span>
          </li>
        ))}
      </ul>
      {props.items !== undefined && pages.hasNextPage ? (
        <p className="unread" role="status">
          Searched the newest {plural(itemsOf(pages).length, 'waiting execution')}. Older ones are
          not shown.{' '}
          <button
            type="button"
            disabled={pages.isFetchingNextPage}
            onClick={() => void pages.fetchNextPage()}
          >
            Search older
          </button>
        </p>
      ) : null}
      {shown.length < items.length || (pages.hasNextPage && props.items === undefined) ? (
        <p>
          <Link to={`/executions?${query}`}>Show all in Executions</Link>
        </p>
      ) : null}
    </section>
  );
}

/** Why it does not move. Read again only after its history has grown. */
function Why({ id, seq }: Pick<ExecutionMessage, 'id' | 'seq'>): ReactNode {
  const { data } = useQuery({
    queryKey: ['why', id, seq],
    queryFn: ({ signal }) => call(requestTo('GET /v1/executions/:id/explain', { id }), { signal }),
    staleTime: Infinity,
  });
  return data === undefined ? null : <LinkedText text={`${data.sentence} ${data.advice ?? ''}`} />;
}

const RETRY = ['Retry', 'compensation'] as const;
const REDRIVE = ['Re-drive', 'dead letter'] as const;

/** One button for each cause, because the causes are fixed apart. */
function RedriveCauses({ pages }: { readonly pages: Pages<ExecutionMessage> }): ReactNode {
  const causes = Map.groupBy(
    itemsOf(pages),
    ({ pipeline, failure }) => `${pipeline}/${failure?.code ?? ''}`,
  );
  return (
    <span className="actions">
      {[...causes].map(([key, found]) => {
        const [{ pipeline, failure, compensating }] = found as [ExecutionMessage];
        const [verb, what] = compensating ? RETRY : REDRIVE;
        const count = { count: found.length, capped: pages.hasNextPage };
        const code = failure === undefined ? {} : { code: failure.code };
        return (
          <BulkButton
            key={key}
            action="redrive"
            {...(compensating ? { mode: 'compensate' } : {})}
            label={`${verb} ${cappedText(count, what)}: ${pipeline}, ${failure?.code ?? 'failed'}…`}
            filter={{ pipeline, ...code, ...QUARANTINED }}
          />
        );
      })}
    </span>
  );
}

function BlockedBulk({ pages }: { readonly pages: Pages<ExecutionMessage> }): ReactNode {
  const items = itemsOf(pages);
  const count = { count: items.length, capped: pages.hasNextPage };
  if (items.length === 0) return null;
  return (
    <span className="actions">
      <ResumeAll items={items} />
      <BulkButton
        action="cancel"
        label={`Cancel ${cappedText(count, 'blocked execution')}…`}
        filter={{ hold: 'blocked', status: [...OPEN] }}
      />
    </span>
  );
}

/** Each is resumed on its own, so that one refusal stops no other. */
function ResumeAll({ items }: { readonly items: readonly ExecutionMessage[] }): ReactNode {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [isPending, setPending] = useState(false);
  const [reason, setReason] = useState('');
  const what = `Resume ${plural(items.length, 'execution')}`;
  const resumeAll = async (): Promise<void> => {
    setPending(true);
    let refused = 0;
    for (const { id } of items) {
      const request = requestTo('POST /v1/executions/:id/resume', { id, ...reasoned(reason) });
      await call(request).catch(() => {
        refused += 1;
      });
    }
    await client.invalidateQueries({ predicate: isLive });
    setPending(false);
    setOpen(false);
    const note = refused === 0 ? '' : `, ${refused} refused`;
    showToast({ text: `${plural(items.length - refused, 'execution')} resumed${note}` });
  };
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {what}…
      </button>
      {isOpen ? (
        <Dialog title={what} onClose={() => setOpen(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void resumeAll();
            }}
          >
            <p>{RESUMED}</p>
            <ReasonField value={reason} onType={setReason} />
            <DialogActions verb={what} onClose={() => setOpen(false)} isPending={isPending} />
          </form>
        </Dialog>
      ) : null}
    </>
  );
}

const RESUMED =
  'Workers claim it with the code deployed now. If that is incompatible too, it returns here.';

function ResumeButton({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Resume…"
      ask={{
        title: 'Resume execution',
        sentence: RESUMED,
        verb: 'Resume execution',
        operation: (reason) =>
          requestTo('POST /v1/executions/:id/resume', { id, ...reasoned(reason) }),
      }}
    />
  );
}

/** One whose workers died has no compensation to retry. */
function QuarantinedOperations({
  execution: { id, compensating },
}: {
  readonly execution: ExecutionMessage;
}): ReactNode {
  const verb = compensating ? 'Retry compensation' : 'Re-drive execution';
  return (
    <OperationButton
      label={compensating ? 'Retry compensation…' : 'Re-drive…'}
      ask={{
        title: verb,
        sentence: compensating
          ? 'Starts a new execution that finishes the compensation.'
          : 'Starts a new execution that reuses recorded results and continues.',
        ...{ verb },
        operation: (reason) =>
          requestTo('POST /v1/executions/:id/redrive', {
            ...{ id, ...(compensating && { mode: 'compensate' }), ...reasoned(reason) },
          }),
        after: (answer) => go(`/executions/${(answer as { readonly id: string }).id}`),
      }}
    />
  );
}
