// One open request: its content, the answer form, and the operations on it.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useCaller, useOperation, useRead } from '../api/reads.ts';
import { summaryOf } from '../model/summary.ts';
import { AnswerForm } from '../parts/answer-form.tsx';
import { OperationButton } from '../parts/dialog.tsx';
import { JsonView } from '../parts/json.tsx';
import { Copy, ExecutionLink, Time } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';

/** How the user ended the request. */
export type Ending = 'answered' | 'cancelled';

interface QuestionProps {
  readonly interaction: InteractionMessage;
  readonly onEnd: (how: Ending) => void;
}

interface TargetProps extends QuestionProps {
  /** Scroll to it: in a narrow window it is below the list. */
  readonly isTarget?: boolean;
}

export function Question({ interaction, onEnd, isTarget = false }: TargetProps): ReactNode {
  const { unit } = interaction;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isTarget) section.current?.scrollIntoView({ block: 'nearest' });
  }, [isTarget]);
  return (
    <section ref={section} className="card question" aria-label="Selected request">
      <h2>{unit?.name ?? interaction.call}</h2>
      <p className="about">
        Requested by <ExecutionLink id={interaction.execution} />
        {unit === undefined ? null : (
          <>
            {' '}
            at <Time at={unit.openedAt} />
            {unit.needed > 1 ? ` · ${unit.answered} of ${unit.needed} answers received` : ''}
            {unit.checked ? ' · answer is validated by a worker' : ''}
          </>
        )}
      </p>
      <Summary request={interaction.request} />
      {interaction.request === undefined ? null : (
        <JsonView value={interaction.request} label="Request" />
      )}
      <Answering interaction={interaction} onEnd={onEnd} />
      <QuestionOperations interaction={interaction} onEnd={onEnd} />
    </section>
  );
}

function Summary({ request }: { readonly request: unknown }): ReactNode {
  const fields = summaryOf(request);
  if (fields.length === 0) return null;
  return (
    <dl className="summary">
      {fields.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function Answering({ interaction, onEnd }: QuestionProps): ReactNode {
  const { data: caller } = useCaller();
  const operation = useOperation();
  const { id, unit } = interaction;
  const isChecked = unit?.checked === true;
  const read = useRead(requestTo('GET /v1/awaits/:id', { id }), { isEnabled: isChecked });
  if (unit?.signed === true) {
    return <p>Accepts answers only through a signed link. Create one and send it.</p>;
  }
  if (!caller?.roles.includes('operate')) {
    return <p>Answering requires the operate role; your key has {caller?.roles.join(', ')}.</p>;
  }
  if (isChecked && read.isPending) return null;
  return (
    <AnswerForm
      schema={read.data?.answerSchema}
      isPending={operation.isPending}
      error={operation.error}
      onAnswer={(value) =>
        operation.mutate(requestTo('POST /v1/awaits/:id/answer', { id, value }), {
          onSuccess: () => onEnd('answered'),
        })
      }
    />
  );
}

const DAY = 86_400_000;

function QuestionOperations({ interaction, onEnd }: QuestionProps): ReactNode {
  const { data: caller } = useCaller();
  if (!caller?.roles.includes('operate')) return null;
  const { id } = interaction;
  const dueAt = interaction.unit?.dueAt;
  return (
    <div className="question-actions">
      <Assign interactionId={id} assignee={interaction.assignee ?? ''} />
      <div className="actions">
        {dueAt === undefined ? null : (
          <>
            <ExtendButton id={id} dueAt={dueAt} />
            <OperationButton
              label="Remove deadline…"
              ask={{
                title: 'Remove deadline?',
                sentence: 'The execution then waits until a person answers, without a time limit.',
                verb: 'Remove deadline',
                needsReason: 'none',
                operation: () => requestTo('POST /v1/awaits/:id/extend', { id, timeoutMs: null }),
              }}
            />
          </>
        )}
        <OperationButton
          label="Cancel request…"
          ask={{
            title: 'Cancel request?',
            sentence: 'The pipeline receives the cancellation and continues.',
            verb: 'Cancel request',
            dismiss: 'Close',
            isDanger: true,
            operation: () => requestTo('POST /v1/awaits/:id/cancel', { id }),
            after: () => onEnd('cancelled'),
          }}
        />
        {caller.hasLinks ? <CreateLink id={id} /> : null}
      </div>
    </div>
  );
}

/** The API counts from now. */
function ExtendButton({ id, dueAt }: { readonly id: string; readonly dueAt: string }): ReactNode {
  const operation = useOperation();
  const timeoutMs = (): number => Math.max(0, Date.parse(dueAt) - Date.now()) + DAY;
  return (
    <>
      <button
        type="button"
        disabled={operation.isPending}
        onClick={() =>
          operation.mutate(requestTo('POST /v1/awaits/:id/extend', { id, timeoutMs: timeoutMs() }))
        }
      >
        Extend by 1 day
      </button>
      <ProblemNote error={operation.error} />
    </>
  );
}

function Assign({
  interactionId,
  assignee,
}: {
  readonly interactionId: string;
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
        const next = name.trim() === '' ? null : name.trim();
        const body = { id: interactionId, assignee: next };
        operation.mutate(requestTo('POST /v1/awaits/:id/assign', body));
      }}
    >
      <label htmlFor={id}>Assignee</label>
      <input
        id={id}
        value={name}
        placeholder="Unassigned"
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" disabled={operation.isPending}>
        Assign
      </button>
      <ProblemNote error={operation.error} />
    </form>
  );
}

function CreateLink({ id }: { readonly id: string }): ReactNode {
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
        Create link
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
