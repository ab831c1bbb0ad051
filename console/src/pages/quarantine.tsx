// Executions that need manual action: failed compensations, and code that no longer matches history.

import { type ReactNode, useId, useState } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useHistory } from '../api/history.ts';
import { itemsOf, type Pages, useMay, useOperation, usePages } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { Dialog, DialogActions, OperationButton, ReasonField, reasoned } from '../parts/dialog.tsx';
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

/** The event stream does not report executions that begin to wait. */
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
  // The page filters longer lists, so older matches may be on pages that were not read.
  const unread = [quarantined, blocked, undoing].filter(({ hasNextPage }) => hasNextPage);
  return (
    <>
      <PageHead title="Quarantine" about="Executions that need manual action" />
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
          about="Compensation failed permanently. Fix the cause, then retry the compensation."
          items={parked}
          operations={(id) => <QuarantinedOperations id={id} />}
        />
        <Group
          title="Blocked"
          about="Deployed code no longer matches the history. Deploy compatible code, then resume."
          items={held}
          operations={(id) => <ResumeButton id={id} />}
        />
        <Group
          title="Compensation retrying"
          about="A compensation failed and will be retried. Retry it now or skip it."
          items={slow}
          operations={(id) => <CompensationOperations id={id} />}
        />
        <Unread
          pages={unread}
          letters={itemsOf(quarantined).length}
          executions={itemsOf(undoing).length + itemsOf(blocked).length}
        />
      </Shown>
    </>
  );
}

interface UnreadProps {
  readonly pages: readonly Pick<Pages<unknown>, 'fetchNextPage' | 'isFetchingNextPage'>[];
  readonly letters: number;
  readonly executions: number;
}

function Unread({ pages, letters, executions }: UnreadProps): ReactNode {
  if (pages.length === 0) return null;
  return (
    <p className="unread" role="status">
      Searched the newest {plural(letters, 'dead letter')} and{' '}
      {plural(executions, 'open execution')}. Older ones are not shown.{' '}
      <button
        type="button"
        disabled={pages.some(({ isFetchingNextPage }) => isFetchingNextPage)}
        onClick={() => {
          for (const each of pages) void each.fetchNextPage();
        }}
      >
        Search older
      </button>
    </p>
  );
}

function NothingHere(): ReactNode {
  return (
    <Empty title="Nothing needs attention">
      <p>Failed compensations and executions blocked by code changes appear here.</p>
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
        title: 'Resume execution',
        sentence:
          'Workers claim it with the code deployed now. If that is incompatible too, it returns here.',
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
