// The page of a signed link: whoever has it may answer once, and sees nothing else.

import { type ReactNode, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOperation, useRead } from '../api/reads.ts';
import { Mark } from '../nav.tsx';
import { AnswerForm } from '../parts/answer-form.tsx';
import { JsonView } from '../parts/json.tsx';
import { Until } from '../parts/marks.tsx';
import { Shown } from '../parts/notes.tsx';

const KEPT = 'Thank you: your answer is kept.';
const ANSWERED = 'This has been answered.';
const OVER = 'This is not asked any more: it was cancelled, or its time is over.';

export function AnswerPage({ link }: { readonly link: string }): ReactNode {
  const read = useRead(requestTo('GET /v1/answers/:link', { link }));
  const operation = useOperation();
  const [isDone, setDone] = useState(false);
  const { data: asked } = read;
  const isOpen = asked?.status === 'open' || asked?.status === 'early';
  return (
    <main className="alone">
      <div className="card sign-in">
        <p className="brand">
          <Mark /> holdfast
        </p>
        <h1>{asked?.name ?? (read.error === null ? 'You are asked' : 'Nothing is asked here')}</h1>
        <Shown of={read}>
          {asked === undefined ? null : (
            <>
              {asked.dueAt === undefined || !isOpen ? null : (
                <p className="about">
                  To be answered <Until at={asked.dueAt} />
                </p>
              )}
              {asked.request === undefined ? null : (
                <JsonView value={asked.request} label="What is asked" />
              )}
              {isDone || !isOpen ? (
                <p role="status">
                  <strong>{isDone ? KEPT : asked.status === 'answered' ? ANSWERED : OVER}</strong>
                </p>
              ) : (
                <AnswerForm
                  schema={asked.answerSchema}
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
