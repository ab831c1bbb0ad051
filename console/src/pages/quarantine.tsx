// What nothing but a person can move: compensations that failed for good, and code that no longer fits.

import { type ReactNode, useId, useState } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useHistory } from '../api/history.ts';
import { itemsOf, type Pages, useMay, useOperation, usePages } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { Dialog, OperationButton, reasoned } from '../parts/dialog.tsx';
import { ExecutionLink, Time } from '../parts/marks.tsx';
import { Empty, PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { go } from '../router.tsx';

interface Stuck {
  readonly id: string;
  readonly pipeline: string;
  readonly at: string;
  readonly reason?: string;
}

function stuckOf({ id, pipeline, submittedAt }: ExecutionMessage): Stuck {
  return { id, pipeline, at: submittedAt };
}

/** What begins to wait is not told of. */
const POLL = { everyMs: 3_000 } as const;

export function QuarantinePage(): ReactNode {
  const quarantined = usePages(
    requestTo('GET /v1/dead-letters', { open: true, limit: 1_000 }),
    POLL,
  );
  const blocked = usePages(requestTo('GET /v1/executions', { hold: 'blocked', limit: 100 }), POLL);
  const undoing = usePages(
    requestTo('GET /v1/executions', { status: ['waiting'], limit: 200 }),
    POLL,
  );
  const parked = itemsOf(quarantined)
    .filter(({ status }) => status === 'quarantined')
    .map(({ execution, pipeline, at, reason }) => ({ id: execution, pipeline, at, reason }));
  const held = itemsOf(blocked).map(stuckOf);
  const slow = itemsOf(undoing)
    .filter(({ compensating }) => compensating)
    .map(stuckOf);
  const isNothing = parked.length + held.length + slow.length === 0;
  // They are found among others, of which a page was read.
  const unread = [quarantined, blocked, undoing].filter(({ hasNextPage }) => hasNextPage);
  return (
    <>
      <PageHead title="Quarantine" about="What only a person can move" />
      <Shown
        of={quarantined}
        isEmpty={
          quarantined.data !== undefined &&
          blocked.data !== undefined &&
          isNothing &&
          unread.length === 0
        }
        empty={<NothingHere />}
      >
        <Group
          title="Quarantined"
          about="Undoing failed for good. Look at what is left, put right what stood in the way, and undo the rest."
          items={parked}
          operations={(id) => <QuarantinedOperations id={id} />}
        />
        <Group
          title="Blocked"
          about="The code no longer asks for what history has. Deploy code that fits, and resume."
          items={held}
          operations={(id) => <ResumeButton id={id} />}
        />
        <Group
          title="Undoing, and waiting"
          about="A compensation failed and is tried again later. Try it now, or leave it out for a reason."
          items={slow}
          operations={(id) => <UndoOperations id={id} />}
        />
        <Unread
          pages={unread}
          searched={itemsOf(quarantined).length + itemsOf(undoing).length + itemsOf(blocked).length}
        />
      </Shown>
    </>
  );
}

interface UnreadProps {
  readonly pages: readonly Pick<Pages<unknown>, 'fetchNextPage' | 'isFetchingNextPage'>[];
  readonly searched: number;
}

function Unread({ pages, searched }: UnreadProps): ReactNode {
  if (pages.length === 0) return null;
  return (
    <p className="unread" role="status">
      This was found among the newest {plural(searched, 'dead letter')} and open executions; there
      are older ones.{' '}
      <button
        type="button"
        disabled={pages.some(({ isFetchingNextPage }) => isFetchingNextPage)}
        onClick={() => {
          for (const each of pages) void each.fetchNextPage();
        }}
      >
        Look further
      </button>
    </p>
  );
}

function NothingHere(): ReactNode {
  return (
    <Empty title="Nothing is stuck">
      <p>
        Here is what cannot go on by itself: failed compensations, and code that has changed under
        an open execution.
      </p>
    </Empty>
  );
}

function Group({
  title,
  about,
  items,
  operations,
}: {
  readonly title: string;
  readonly about: string;
  readonly items: readonly Stuck[];
  readonly operations: (id: string) => ReactNode;
}): ReactNode {
  const { operate } = useMay();
  if (items.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <p className="about">
        {plural(items.length, 'execution')}. {about}
      </p>
      <ul className="causes">
        {items.map(({ id, pipeline, at, reason }) => (
          <li key={id} className="card cause">
            <ExecutionLink id={id} />
            <span>{pipeline}</span>
            <Time at={at} />
            <span className="about">{reason}</span>
            <span className="actions">{operate ? operations(id) : null}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function ResumeButton({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Resume…"
      ask={{
        title: 'Resume it',
        sentence:
          'It is claimed again, with the code that is deployed now. If that does not fit either, it is back here.',
        verb: 'Resume',
        operation: (reason) =>
          requestTo('POST /v1/executions/:id/resume', { id, ...reasoned(reason) }),
      }}
    />
  );
}

function QuarantinedOperations({ id }: { readonly id: string }): ReactNode {
  return (
    <OperationButton
      label="Undo the rest…"
      ask={{
        title: 'Undo the rest',
        sentence: 'A new execution undoes what this one could not.',
        verb: 'Undo',
        operation: (reason) =>
          requestTo('POST /v1/executions/:id/redrive', {
            ...{ id, mode: 'compensate', ...reasoned(reason) },
          }),
        after: (answer) => go(`/executions/${(answer as { readonly id: string }).id}`),
      }}
    />
  );
}

function UndoOperations({ id }: { readonly id: string }): ReactNode {
  const [verb, setVerb] = useState<'retry' | 'skip'>();
  return (
    <>
      <button type="button" onClick={() => setVerb('retry')}>
        Try now…
      </button>
      <button type="button" onClick={() => setVerb('skip')}>
        Leave out…
      </button>
      {verb === undefined ? null : (
        <UndoDialog id={id} verb={verb} onClose={() => setVerb(undefined)} />
      )}
    </>
  );
}

/** Steps whose undoing failed so far, the latest last: which one is meant is hardly ever a question. */
function useFailedUndoing(id: string): readonly string[] {
  const { events } = useHistory(id, false);
  const names = events.flatMap(({ kind, name, body }) => {
    const { key = '' } = (body ?? {}) as { readonly key?: string };
    return kind === 'step-failed' && key.startsWith('undo:') && name !== undefined ? [name] : [];
  });
  return [...new Set(names.toReversed())].toReversed();
}

function UndoDialog({
  id,
  verb,
  onClose,
}: {
  readonly id: string;
  readonly verb: 'retry' | 'skip';
  readonly onClose: () => void;
}): ReactNode {
  const operation = useOperation();
  const failed = useFailedUndoing(id);
  const [typed, setStep] = useState<string>();
  const step = typed ?? failed.at(-1) ?? '';
  const [reason, setReason] = useState('');
  const [stepId, reasonId] = [useId(), useId()];
  return (
    <Dialog
      title={verb === 'retry' ? 'Try a compensation now' : 'Leave a compensation out'}
      onClose={onClose}
    >
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
        <label htmlFor={stepId}>Name of the step</label>
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
        <label htmlFor={reasonId}>Reason</label>
        <input
          id={reasonId}
          required={verb === 'skip'}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <ProblemNote error={operation.error} />
        <div className="dialog-actions">
          <button type="button" className="quiet" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" className="primary" disabled={operation.isPending}>
            {verb === 'retry' ? 'Try it' : 'Leave it out'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
