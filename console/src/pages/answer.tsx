// The page of a signed link: its holder can answer one request, and sees nothing else.

import { type ReactNode, useState } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useAct, useRead } from '../api/reads.ts';
import { Mark } from '../nav.tsx';
import { AnswerForm } from '../parts/answer-form.tsx';
import { JsonView } from '../parts/json.tsx';
import { Until } from '../parts/marks.tsx';
import { Shown } from '../parts/notes.tsx';

const SAVED = 'Thank you. Your answer was saved.';
const ANSWERED = 'Already answered.';
const OVER = 'This request was cancelled or has expired.';

export function AnswerPage({ link }: { readonly link: string }): ReactNode {
  const read = useRead(requestTo('GET /v1/answers/:link', { link }));
  const act = useAct();
  const [isDone, setDone] = useState(false);
  const { data: asked } = read;
  const isOpen = asked?.status === 'open' || asked?.status === 'early';
  return (
    <main className="alone">
      <div className="card sign-in">
        <p className="brand">
          <Mark /> holdfast
        </p>
        <h1>
          {asked?.name ??
            (read.error === null ? 'Your response is requested' : 'Nothing to answer')}
        </h1>
        <Shown of={read}>
          {asked === undefined ? null : (
            <>
              {asked.dueAt === undefined || !isOpen ? null : (
                <p className="about">
                  Due <Until at={asked.dueAt} />
                </p>
              )}
              {asked.request === undefined ? null : (
                <JsonView value={asked.request} label="Request" />
              )}
              {isDone || !isOpen ? (
                <p role="status">
                  <strong>{isDone ? SAVED : asked.status === 'answered' ? ANSWERED : OVER}</strong>
                </p>
              ) : (
                <AnswerForm
                  schema={asked.answerSchema}
                  isPending={act.isPending}
                  error={act.error}
                  onAnswer={(value) =>
                    act.mutate(requestTo('POST /v1/answers/:link', { link, value }), {
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
