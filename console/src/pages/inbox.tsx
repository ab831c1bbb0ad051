// What executions ask, and which of it whoever answers is looking at.

import { type ReactNode, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { ExecutionLink, Until } from '../parts/marks.tsx';
import { NameFilter } from '../parts/name-filter.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { goWith, type Place, usePlace } from '../router.tsx';
import { type Ending, Question } from './question.tsx';

type Asked = InteractionMessage;

interface Selection {
  /** What is open, without what was just ended here. */
  readonly open: readonly Asked[];
  readonly chosen: string | undefined;
  readonly done: Done | undefined;
  readonly onNext: (done?: Done) => void;
}

/** What was just ended here, and how. */
interface Done {
  readonly asked: Asked;
  readonly how: Ending;
}

/** It stays what it is until somebody chooses: others ask and answer meanwhile, and the list is never the same. */
function useSelection(items: readonly Asked[], place: Place): Selection {
  const [done, setDone] = useState<Done>();
  const [first, setFirst] = useState<string>();
  const open = items.filter(({ id }) => id !== done?.asked.id);
  const named = place.query.get('await') ?? undefined;
  const [newest] = open;
  if (named === undefined && first === undefined && newest !== undefined) setFirst(newest.id);
  const onNext = (ended?: Done): void => {
    setDone(ended);
    setFirst(undefined);
    goWith(place, { await: undefined }, { replace: true });
  };
  return { open, done, onNext, chosen: named ?? first };
}

export function InboxPage(): ReactNode {
  const place = usePlace();
  const assignee = place.query.get('assignee') ?? '';
  const pages = usePages(requestTo('GET /v1/awaits', { assignee, limit: 100 }), {
    everyMs: 2_000,
  });
  const { open, chosen, done, onNext } = useSelection(itemsOf(pages), place);
  const asked = open.find(({ id }) => id === chosen);
  return (
    <>
      <PageHead
        title="Inbox"
        about={
          pages.data === undefined
            ? ' '
            : `${plural(open.length, 'open question')}${pages.hasNextPage ? ' and more' : ''}`
        }
      >
        <NameFilter
          label="Assigned to"
          name={assignee}
          onFilter={(name) => goWith(place, { assignee: name, await: undefined })}
        />
      </PageHead>
      {done === undefined ? null : <Kept done={done} />}
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && open.length === 0 && chosen === undefined}
        empty={<NothingAsked isFiltered={assignee !== ''} />}
      >
        <div className="split">
          <div className="asked">
            <AskedList open={open} chosen={chosen} place={place} />
            <More pages={pages} />
          </div>
          {asked !== undefined ? (
            <Question
              key={asked.id}
              asked={asked}
              isTarget={place.query.has('await')}
              onEnd={(how) => onNext({ asked, how })}
            />
          ) : chosen !== undefined && pages.data !== undefined ? (
            <Elsewhere key={chosen} id={chosen} onNext={onNext} />
          ) : null}
        </div>
      </Shown>
    </>
  );
}

interface AskedListProps extends Pick<Selection, 'open' | 'chosen'> {
  readonly place: Place;
}

function AskedList({ open, chosen, place }: AskedListProps): ReactNode {
  return (
    <ul className="asked">
      {open.map((item) => (
        <li key={item.id}>
          <button
            type="button"
            className="asked-one"
            aria-pressed={item.id === chosen}
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
  );
}

function Kept({ done: { asked, how } }: { readonly done: Done }): ReactNode {
  return (
    <p className="preview" role="status">
      {how === 'answered' ? 'Your answer is kept' : 'The question is cancelled'}:{' '}
      <ExecutionLink id={asked.execution} /> goes on.
    </p>
  );
}

function NothingAsked({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  return (
    <Empty title={isFiltered ? 'Nothing is open for this assignee' : 'Nothing is asked now'}>
      <p>
        When a pipeline calls <code>ctx.await('approval', …)</code>, its question is here until a
        person answers it or its time limit passes.
      </p>
    </Empty>
  );
}

interface ElsewhereProps {
  readonly id: string;
  readonly onNext: Selection['onNext'];
}

const OPEN: ReadonlySet<string> = new Set(['open', 'early']);

/** Not in the list: older than what was read of it, or over since it was chosen. */
function Elsewhere({ id, onNext }: ElsewhereProps): ReactNode {
  const read = useRead(requestTo('GET /v1/awaits/:id', { id }));
  const { data: asked } = read;
  if (asked !== undefined && OPEN.has(asked.status)) {
    return <Question asked={asked} onEnd={(how) => onNext({ asked, how })} />;
  }
  return (
    <section className="card question" aria-label="The question">
      <Shown of={read}>
        <h2>It is not open any more</h2>
        <p>
          {asked?.status === 'answered'
            ? `${asked.answer?.actor ?? 'Somebody'} answered it`
            : 'It ended'}
          {asked === undefined ? null : (
            <>
              {' '}
              while you looked at it: <ExecutionLink id={asked.execution} />. Nothing was sent from
              here.
            </>
          )}
        </p>
      </Shown>
      <div className="actions">
        <button type="button" onClick={() => onNext()}>
          Next question
        </button>
      </div>
    </section>
  );
}
