// One thing that is asked: what it is, the form for its answer, and what else can be done with it.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useCaller, useOperation, useRead } from '../api/reads.ts';
import { AnswerForm } from '../parts/answer-form.tsx';
import { OperationButton } from '../parts/dialog.tsx';
import { JsonView } from '../parts/json.tsx';
import { Copy, ExecutionLink, Time } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';

type Asked = InteractionMessage;

/** What whoever looks did to it. */
export type Ending = 'answered' | 'cancelled';

interface QuestionProps {
  readonly asked: Asked;
  readonly onEnd: (how: Ending) => void;
}

interface TargetProps extends QuestionProps {
  /** Somebody chose it: in a narrow window it stands below the list, where it would not be seen. */
  readonly isTarget?: boolean;
}

export function Question({ asked, onEnd, isTarget = false }: TargetProps): ReactNode {
  const { unit } = asked;
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isTarget) place.current?.scrollIntoView({ block: 'nearest' });
  }, [isTarget]);
  return (
    <section ref={place} className="card question" aria-label="The question">
      <h2>{unit?.name ?? asked.call}</h2>
      <p className="about">
        Asked by <ExecutionLink id={asked.execution} />
        {unit === undefined ? null : (
          <>
            {' '}
            at <Time at={unit.openedAt} />
            {unit.needed > 1 ? `, ${unit.answered} of ${unit.needed} answers are there` : ''}
            {unit.checked ? ', checked by a worker' : ''}
          </>
        )}
      </p>
      {asked.request === undefined ? null : (
        <JsonView value={asked.request} label="What is asked" />
      )}
      <Answering asked={asked} onEnd={onEnd} />
      <QuestionOperations asked={asked} onEnd={onEnd} />
    </section>
  );
}

function Answering({ asked, onEnd }: QuestionProps): ReactNode {
  const { data: caller } = useCaller();
  const operation = useOperation();
  const isChecked = asked.unit?.checked === true;
  const read = useRead(requestTo('GET /v1/awaits/:id', { id: asked.id }), { isEnabled: isChecked });
  if (asked.unit?.signed === true) {
    return <p>It takes answers by signed link only: make one, and send it to whoever answers.</p>;
  }
  if (!caller?.roles.includes('operate')) {
    return (
      <p>Answering needs a key with the role operate; yours has {caller?.roles.join(', ')}.</p>
    );
  }
  if (isChecked && read.isPending) return null;
  return (
    <AnswerForm
      schema={read.data?.answerSchema}
      isPending={operation.isPending}
      error={operation.error}
      onAnswer={(value) =>
        operation.mutate(requestTo('POST /v1/awaits/:id/answer', { id: asked.id, value }), {
          onSuccess: () => onEnd('answered'),
        })
      }
    />
  );
}

const DAY = 86_400_000;

function QuestionOperations({ asked, onEnd }: QuestionProps): ReactNode {
  const { data: caller } = useCaller();
  if (!caller?.roles.includes('operate')) return null;
  const { id } = asked;
  return (
    <div className="question-actions">
      <Assign id={id} assignee={asked.assignee ?? ''} />
      <div className="actions">
        <ExtendButton id={id} label="One more day" ms={DAY} />
        <ExtendButton id={id} label="For as long as it takes" ms={null} />
        <OperationButton
          label="Cancel the question…"
          ask={{
            title: 'Cancel the question',
            sentence: 'Nobody will answer it: the code is told so, and goes on.',
            verb: 'Cancel the question',
            isDanger: true,
            operation: () => requestTo('POST /v1/awaits/:id/cancel', { id }),
            after: () => onEnd('cancelled'),
          }}
        />
        {caller.hasLinks ? <MakeLink id={id} /> : null}
      </div>
    </div>
  );
}

function ExtendButton({
  id,
  label,
  ms,
}: {
  readonly id: string;
  readonly label: string;
  readonly ms: number | null;
}): ReactNode {
  const operation = useOperation();
  return (
    <>
      <button
        type="button"
        disabled={operation.isPending}
        onClick={() =>
          operation.mutate(requestTo('POST /v1/awaits/:id/extend', { id, timeoutMs: ms }))
        }
      >
        {label}
      </button>
      <ProblemNote error={operation.error} />
    </>
  );
}

function Assign({
  id: asked,
  assignee,
}: {
  readonly id: string;
  readonly assignee: string;
}): ReactNode {
  const operation = useOperation();
  const [name, setName] = useState(assignee);
  const id = useId();
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        const given = name.trim() === '' ? null : name.trim();
        operation.mutate(requestTo('POST /v1/awaits/:id/assign', { id: asked, assignee: given }));
      }}
    >
      <label htmlFor={id}>Assignee</label>
      <input
        id={id}
        value={name}
        placeholder="nobody"
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" disabled={operation.isPending}>
        Assign
      </button>
      <ProblemNote error={operation.error} />
    </form>
  );
}

function MakeLink({ id }: { readonly id: string }): ReactNode {
  const operation = useOperation<{ readonly page: string }>();
  const href =
    operation.data === undefined ? undefined : `${window.location.origin}${operation.data.page}`;
  return (
    <>
      <button
        type="button"
        onClick={() =>
          operation.mutate(requestTo('POST /v1/awaits/:id/link', { id, expiresInMs: 7 * DAY }))
        }
      >
        Make a link
      </button>
      {href === undefined ? null : (
        <p className="made-link">
          <a href={href}>{href}</a> <Copy text={href} what="link" />
        </p>
      )}
      <ProblemNote error={operation.error} />
    </>
  );
}
