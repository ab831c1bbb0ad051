// What executions ask, and the answers to it.

import { type ReactNode, useId, useState } from 'react';
import type { InteractionMessage } from '../../../src/protocol/messages/awaits.ts';
import { pathWith } from '../api/call.ts';
import { itemsOf, useAct, useCaller, usePages, useRead } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { AnswerForm } from '../parts/answer-form.tsx';
import { ActButton } from '../parts/dialog.tsx';
import { JsonView } from '../parts/json.tsx';
import { Copy, ExecutionLink, Time, Until } from '../parts/marks.tsx';
import { NameFilter } from '../parts/name-filter.tsx';
import { Empty, PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { goWith, usePlace } from '../router.tsx';

type Asked = InteractionMessage;

export function InboxPage(): ReactNode {
  const place = usePlace();
  const assignee = place.query.get('assignee') ?? '';
  const pages = usePages<Asked>(pathWith('/v1/awaits', { assignee, limit: 100 }), {
    everyMs: 2_000,
  });
  const items = itemsOf(pages);
  const chosen = items.find(({ id }) => id === place.query.get('await')) ?? items[0];
  return (
    <>
      <PageHead
        title="Inbox"
        about={`${plural(items.length, 'open question')}${pages.hasNextPage ? ' and more' : ''}`}
      >
        <NameFilter
          key={assignee}
          label="Assigned to"
          name={assignee}
          onFilter={(name) => goWith(place, { assignee: name })}
        />
      </PageHead>
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={<NothingAsked isFiltered={assignee !== ''} />}
      >
        <div className="split">
          <ul className="asked">
            {items.map((item) => (
              <li key={item.id}>
                <button
                  type="button"
                  className="asked-one"
                  aria-pressed={item.id === chosen?.id}
                  onClick={() => goWith(place, { await: item.id })}
                >
                  <strong>{item.unit?.name ?? item.call}</strong>
                  <span>{item.unit?.pipeline}</span>
                  <span className="about">
                    {item.assignee === undefined ? 'nobody assigned' : `for ${item.assignee}`}
                    {item.unit?.dueAt === undefined ? null : (
                      <>
                        {' · due '}
                        <Until at={item.unit.dueAt} />
                      </>
                    )}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {chosen === undefined ? null : <Question key={chosen.id} asked={chosen} />}
        </div>
      </Shown>
    </>
  );
}

function NothingAsked({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  return (
    <Empty title={isFiltered ? 'Nothing is open for this assignee' : 'Nothing is asked now'}>
      <p>
        When a pipeline calls <code>ctx.await('approval', …)</code>, its question is here until
        somebody answers it or its time is over.
      </p>
    </Empty>
  );
}

function Question({ asked }: { readonly asked: Asked }): ReactNode {
  const act = useAct();
  const isChecked = asked.unit?.checked === true;
  const read = useRead<Asked>(`/v1/awaits/${asked.id}`, { isEnabled: isChecked });
  const { unit } = asked;
  return (
    <section className="card question" aria-label="The question">
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
      {unit?.signed === true ? (
        <p>It takes answers by signed link only: make one, and send it to whoever answers.</p>
      ) : isChecked && read.isPending ? null : (
        <AnswerForm
          schema={read.data?.answerSchema}
          isPending={act.isPending}
          error={act.error}
          onAnswer={(value) =>
            act.mutate({ path: `/v1/awaits/${asked.id}/answer`, body: { value } })
          }
        />
      )}
      <QuestionActs asked={asked} />
    </section>
  );
}

const DAY = 86_400_000;

function QuestionActs({ asked }: { readonly asked: Asked }): ReactNode {
  const { data: caller } = useCaller();
  if (!caller?.roles.includes('operate')) return null;
  const path = `/v1/awaits/${asked.id}`;
  return (
    <div className="question-acts">
      <Assign path={path} assignee={asked.assignee ?? ''} />
      <div className="acts">
        <ExtendButton path={path} label="One more day" ms={DAY} />
        <ExtendButton path={path} label="For as long as it takes" ms={null} />
        <ActButton
          label="Cancel the question…"
          ask={{
            title: 'Cancel the question',
            sentence: 'Nobody will answer it: the code is told so, and goes on.',
            verb: 'Cancel the question',
            isDanger: true,
            act: () => ({ path: `${path}/cancel` }),
          }}
        />
        {caller.hasLinks ? <MakeLink path={path} /> : null}
      </div>
    </div>
  );
}

function ExtendButton({
  path,
  label,
  ms,
}: {
  readonly path: string;
  readonly label: string;
  readonly ms: number | null;
}): ReactNode {
  const act = useAct();
  return (
    <>
      <button
        type="button"
        disabled={act.isPending}
        onClick={() => act.mutate({ path: `${path}/extend`, body: { timeoutMs: ms } })}
      >
        {label}
      </button>
      <ProblemNote error={act.error} />
    </>
  );
}

function Assign({
  path,
  assignee,
}: {
  readonly path: string;
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
        act.mutate({
          path: `${path}/assign`,
          body: { assignee: name.trim() === '' ? null : name.trim() },
        });
      }}
    >
      <label htmlFor={id}>Assignee</label>
      <input
        id={id}
        value={name}
        placeholder="nobody"
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit" disabled={act.isPending}>
        Assign
      </button>
      <ProblemNote error={act.error} />
    </form>
  );
}

function MakeLink({ path }: { readonly path: string }): ReactNode {
  const act = useAct<{ readonly page: string }>();
  const href = act.data === undefined ? undefined : `${window.location.origin}${act.data.page}`;
  return (
    <>
      <button
        type="button"
        onClick={() => act.mutate({ path: `${path}/link`, body: { expiresInMs: 7 * DAY } })}
      >
        Make a link
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
