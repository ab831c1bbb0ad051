// Executions that need manual action: quarantined and blocked ones, and failing compensations.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from '../api/call.ts';
import { useHistory } from '../api/history.ts';
import { isLive, itemsOf, type Pages, useMay, useOperation, usePages } from '../api/reads.ts';
import { OPEN } from '../model/statuses.ts';
import { plural } from '../model/words.ts';
import { BulkButton } from '../parts/bulk.tsx';
import { Dialog, DialogActions, OperationButton, ReasonField, reasoned } from '../parts/dialog.tsx';
import { ExecutionLink, LinkedText, Time } from '../parts/marks.tsx';
import { Empty, PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { showToast } from '../parts/toast.tsx';
import { go, Link } from '../router.tsx';

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
          bulk={<RedriveCauses items={itemsOf(quarantined)} />}
          operations={(each) => (isPoison(each) ? null : <QuarantinedOperations id={each.id} />)}
        />
        <Group
          title="Blocked"
          about="Their code does not match their history, threw outside of a step, or does not accept the input. The reason names the repair."
          pages={blocked}
          query="hold=blocked"
          bulk={<BlockedBulk items={itemsOf(blocked)} />}
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

/** Its compensations did not fail: it ended the processes of its workers. Its own page has the repair. */
function isPoison({ failure }: ExecutionMessage): boolean {
  return failure?.code === 'poison';
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

/** One button for each cause, because the causes are fixed apart. */
function RedriveCauses({ items }: { readonly items: readonly ExecutionMessage[] }): ReactNode {
  const causes = new Map(
    items.map((each) => [`${each.pipeline}/${each.failure?.code ?? ''}`, each] as const),
  );
  return (
    <span className="actions">
      {[...causes].map(([key, each]) => {
        const { pipeline, failure } = each;
        const code = failure === undefined ? {} : { code: failure.code };
        return (
          <BulkButton
            key={key}
            action="redrive"
            {...(isPoison(each) ? {} : { mode: 'compensate' })}
            label={`${isPoison(each) ? 'Re-drive all' : 'Retry all compensations'}: ${pipeline}, ${failure?.code ?? 'failed'}…`}
            filter={{ pipeline, ...code, ...QUARANTINED }}
          />
        );
      })}
    </span>
  );
}

function BlockedBulk({ items }: { readonly items: readonly ExecutionMessage[] }): ReactNode {
  if (items.length === 0) return null;
  return (
    <span className="actions">
      <ResumeAll items={items} />
      <BulkButton
        action="cancel"
        label="Cancel blocked…"
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

function QuarantinedOperations({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Retry compensation…"
      ask={{
        title: 'Retry compensation',
        sentence: 'Starts a new execution that finishes the compensation.',
        verb: 'Retry compensation',
        operation: (reason) =>
          requestTo('POST /v1/executions/:id/redrive', {
            ...{ id, mode: 'compensate', ...reasoned(reason) },
          }),
        after: (answer) => go(`/executions/${(answer as { readonly id: string }).id}`),
      }}
    />
  );
}

function CompensationOperations({ id }: { readonly id: string }): ReactNode {
  const [verb, setVerb] = useState<'retry' | 'skip'>();
  return (
    <>
      <button type="button" onClick={() => setVerb('retry')}>
        Retry now…
      </button>
      <button type="button" onClick={() => setVerb('skip')}>
        Skip…
      </button>
      {verb === undefined ? null : (
        <CompensationDialog id={id} verb={verb} onClose={() => setVerb(undefined)} />
      )}
    </>
  );
}

/** Steps whose compensation has failed, the latest last: the dialog suggests that one. */
function useFailedCompensations(id: string): readonly string[] {
  const { events } = useHistory(id, false);
  const names = events.flatMap(({ kind, name, body }) => {
    const { key = '' } = (body ?? {}) as { readonly key?: string };
    return kind === 'step-failed' && key.startsWith('undo:') && name !== undefined ? [name] : [];
  });
  return [...new Set(names.toReversed())].toReversed();
}

function CompensationDialog({
  id,
  verb,
  onClose,
}: {
  readonly id: string;
  readonly verb: 'retry' | 'skip';
  readonly onClose: () => void;
}): ReactNode {
  const operation = useOperation();
  const failed = useFailedCompensations(id);
  const [typed, setStep] = useState<string>();
  const step = typed ?? failed.at(-1) ?? '';
  const [reason, setReason] = useState('');
  const stepId = useId();
  return (
    <Dialog title={verb === 'retry' ? 'Retry compensation' : 'Skip compensation'} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const request =
            verb === 'skip'
              ? requestTo('POST /v1/executions/:id/skip-compensation', { id, step, reason })
              : requestTo('POST /v1/executions/:id/retry-compensation', {
                  ...{ id, step, ...reasoned(reason) },
                });
          operation.mutate(request, { onSuccess: onClose });
        }}
      >
        <label htmlFor={stepId}>Step</label>
        <input
          id={stepId}
          required
          list={`${stepId}-failed`}
          value={step}
          onChange={(event) => setStep(event.target.value)}
        />
        <datalist id={`${stepId}-failed`}>
          {failed.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <ReasonField value={reason} onType={setReason} isRequired={verb === 'skip'} />
        <ProblemNote error={operation.error} />
        <DialogActions
          verb={verb === 'retry' ? 'Retry' : 'Skip'}
          onClose={onClose}
          isPending={operation.isPending}
        />
      </form>
    </Dialog>
  );
}
