// The form that answers a request.

import type { ReactNode } from 'react';
import { ANSWER_EXAMPLE, requireAnswer } from '../model/answer-fields.ts';
import { ProblemNote } from './notes.tsx';
import { useValueFields } from './value-fields.tsx';

export function AnswerForm({
  schema,
  isPending,
  error,
  onAnswer,
}: {
  readonly schema: unknown;
  readonly isPending: boolean;
  readonly error: unknown;
  readonly onAnswer: (value: unknown) => void;
}): ReactNode {
  const answer = useValueFields({ label: 'Answer', schema, example: ANSWER_EXAMPLE });
  return (
    <form
      className="answer-form"
      onSubmit={(event) => {
        event.preventDefault();
        answer.send((value) => onAnswer(requireAnswer(value)));
      }}
    >
      {answer.fields}
      <ProblemNote error={answer.problem ?? error} />
      <button type="submit" className="primary" disabled={isPending}>
        {isPending ? 'Sending…' : 'Submit'}
      </button>
    </form>
  );
}
