// One request: its payload, the form for its answer, and its other actions.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useAct, useCaller, useRead } from '../api/reads.ts';
import { AnswerForm } from '../parts/answer-form.tsx';
import { ActButton } from '../parts/dialog.tsx';
import { JsonView } from '../parts/json.tsx';
import { Copy, ExecutionLink, Time } from '../parts/marks.tsx';
import { ProblemNote } from '../parts/notes.tsx';

type Asked = InteractionMessage;

/** How the user closed the request. */
export type Ending = 'answered' | 'cancelled';

interface QuestionProps {
  readonly asked: Asked;
  readonly onEnd: (how: Ending) => void;
}

interface SoughtProps extends QuestionProps {
  /** The user selected it: in a narrow window it is below the list, so it is scrolled into view. */
  readonly isSought?: boolean;
}

export function Question({ asked, onEnd, isSought = false }: SoughtProps): ReactNode {
  const { unit } = asked;
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isSought) place.current?.scrollIntoView({ block: 'nearest' });
  }, [isSought]);
  return (
    <section ref={place} className="card question" aria-label="Selected request">
      <h2>{unit?.name ?? asked.call}</h2>
      <p className="about">
        Requested by <ExecutionLink id={asked.execution} />
        {unit === undefined ? null : (
          <>
            {' '}
            at <Time at={unit.openedAt} />
            {unit.needed > 1 ? ` · ${unit.answered} of ${unit.needed} answers received` : ''}
            {unit.checked ? ' · answer is validated by a worker' : ''}
          </>
        )}
      </p>
      {asked.request === undefined ? null : <JsonView value={asked.request} label="Request" />}
      <Answering asked={asked} onEnd={onEnd} />
      <QuestionActs asked={asked} onEnd={onEnd} />
    </section>
  );
}

function Answering({ asked, onEnd }: QuestionProps): ReactNode {
  const { data: caller } = useCaller();
  const act = useAct();
  const isChecked = asked.unit?.checked === true;
  const read = useRead(requestTo('GET /v1/awaits/:id', { id: asked.id }), { isEnabled: isChecked });
  if (asked.unit?.signed === true) {
    return <p>Accepts answers only through a signed link. Create one and send it.</p>;
  }
  if (!caller?.roles.includes('operate')) {
    return <p>Answering requires the operate role; your key has {caller?.roles.join(', ')}.</p>;
  }
  if (isChecked && read.isPending) return null;
  return (
    <AnswerForm
      schema={read.data?.answerSchema}
      isPending={act.isPending}
      error={act.error}
      onAnswer={(value) =>
        act.mutate(requestTo('POST /v1/awaits/:id/answer', { id: asked.id, value }), {
          onSuccess: () => onEnd('answered'),
        })
      }
    />
  );
}

const DAY = 86_400_000;

function QuestionActs({ asked, onEnd }: QuestionProps): ReactNode {
  const { data: caller } = useCaller();
  if (!caller?.roles.includes('operate')) return null;
  const { id } = asked;
  return (
    <div className="question-acts">
      <Assign id={id} assignee={asked.assignee ?? ''} />
      <div className="acts">
        <ExtendButton id={id} label="Extend by 1 day" ms={DAY} />
        <ExtendButton id={id} label="Remove deadline" ms={null} />
        <ActButton
          label="Cancel request…"
          ask={{
            title: 'Cancel request?',
            sentence: 'The pipeline is told that the request was cancelled, and continues.',
            verb: 'Cancel request',
            dismiss: 'Keep open',
            isDanger: true,
            act: () => requestTo('POST /v1/awaits/:id/cancel', { id }),
            after: () => onEnd('cancelled'),
          }}
        />
        {caller.hasLinks ? <CreateLink id={id} /> : null}
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
  const act = useAct();
  return (
    <>
      <button
        type="button"
        disabled={act.isPending}
        onClick={() => act.mutate(requestTo('POST /v1/awaits/:id/extend', { id, timeoutMs: ms }))}
      >
        {label}
      </button>
      <ProblemNote error={act.error} />
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
  const act = useAct();
  const [name, setName] = useState(assignee);
  const id = useId();
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        const given = name.trim() === '' ? null : name.trim();
        act.mutate(requestTo('POST /v1/awaits/:id/assign', { id: asked, assignee: given }));
      }}
    >
      <label htmlFor={id}>Assignee</label>
      <input
        id={id}
        value={name}
        placeholder="Unassigned"
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" disabled={act.isPending}>
        Assign
      </button>
      <ProblemNote error={act.error} />
    </form>
  );
}

function CreateLink({ id }: { readonly id: string }): ReactNode {
  const act = useAct<{ readonly page: string }>();
  const href = act.data === undefined ? undefined : `${window.location.origin}${act.data.page}`;
  return (
    <>
      <button
        type="button"
        onClick={() =>
          act.mutate(requestTo('POST /v1/awaits/:id/link', { id, expiresInMs: 7 * DAY }))
        }
      >
        Create link
      </button>
      {href === undefined ? null : (
        <p className="made-link">
          <a href={href}>{href}</a> <Copy text={href} what="link" />
        </p>
      )}
      <ProblemNote error={act.error} />
    </>
  );
}
