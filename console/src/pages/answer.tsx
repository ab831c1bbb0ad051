// The page of a signed link. It shows one request and accepts one answer, without an API key.

import { type ReactNode, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOperation, useRead } from '../api/reads.ts';
import { Mark } from '../nav.tsx';
import { AnswerForm } from '../parts/answer-form.tsx';
import { JsonView } from '../parts/json.tsx';
import { Time, Until } from '../parts/marks.tsx';
import { Shown } from '../parts/notes.tsx';

const SAVED = 'Thank you. Your answer was saved.';
const ANSWERED = 'Already answered.';
const OVER = 'This request was cancelled or has expired.';

export function AnswerPage({ link }: { readonly link: string }): ReactNode {
  const read = useRead(requestTo('GET /v1/answers/:link', { link }));
  const operation = useOperation();
  const [isDone, setDone] = useState(false);
  const { data: interaction } = read;
  const isOpen = interaction?.status === 'open' || interaction?.status === 'early';
  return (
    <main className="alone">
      <div className="card sign-in">
        <p className="brand">
          <Mark /> holdfast
        </p>
        <h1>
          {interaction?.name ??
            (read.error === null ? 'Your response is requested' : 'Nothing to answer')}
        </h1>
        <Shown of={read}>
          {interaction === undefined ? null : (
            <>
              {interaction.dueAt === undefined || !isOpen ? null : (
                <p className="about">
                  Answer by <Time at={interaction.dueAt} /> (<Until at={interaction.dueAt} />)
                </p>
              )}
              {interaction.request === undefined ? null : (
                <JsonView value={interaction.request} label="Request" />
              )}
              {isDone || !isOpen ? (
                <p role="status">
                  <strong>
                    {isDone ? SAVED : interaction.status === 'answered' ? ANSWERED : OVER}
                  </strong>
                </p>
              ) : (
                <AnswerForm
                  schema={interaction.answerSchema}
                  isPending={operation.isPending}
                  error={operation.error}
                  onAnswer={(value) =>
                    operation.mutate(requestTo('POST /v1/answers/:link', { link, value }), {
                      onSuccess: () => setDone(true),
                    })
                  }
                />
              )}
            </>
          )}
        </Shown>
      </div>
    </main>
  );
}
