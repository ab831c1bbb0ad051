// The inbox: open requests of executions, and the one that is selected.

import { type ReactNode, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import { actorText, countedText, plural } from '../model/words.ts';
import { ExecutionLink, Until } from '../parts/marks.tsx';
import { NameFilter } from '../parts/name-filter.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { goWith, type Place, usePlace } from '../router.tsx';
import { type Ending, Question } from './question.tsx';

type Asked = InteractionMessage;

interface Looking {
  /** Open requests, without the one that was just answered or cancelled here. */
  readonly open: readonly Asked[];
  readonly chosen: string | undefined;
  readonly done: Done | undefined;
  readonly onNext: (done?: Done) => void;
}

/** The request that was just answered or cancelled here. */
interface Done {
  readonly asked: Asked;
  readonly how: Ending;
}

/** The selection stays until the user changes it, although the list changes as others ask and answer. */
function useLooking(items: readonly Asked[], place: Place): Looking {
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
  const { open, chosen, done, onNext } = useLooking(itemsOf(pages), place);
  const asked = open.find(({ id }) => id === chosen);
  return (
    <>
      <PageHead
        title="Inbox"
        about={
          pages.data === undefined
            ? ' '
            : countedText({ count: open.length, hasMore: pages.hasNextPage }, 'open request')
        }
      >
        <NameFilter
          label="Filter by assignee"
          name={assignee}
          onFilter={(name) => goWith(place, { assignee: name, await: undefined })}
        />
      </PageHead>
      {done === undefined ? null : <Confirmation done={done} />}
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && open.length === 0 && chosen === undefined}
        empty={<NoRequests isFiltered={assignee !== ''} />}
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
              isSought={place.query.has('await')}
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

interface AskedListProps extends Pick<Looking, 'open' | 'chosen'> {
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
              {item.assignee === undefined ? 'Unassigned' : `Assigned to ${item.assignee}`}
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

function Confirmation({ done: { asked, how } }: { readonly done: Done }): ReactNode {
  const { needed = 1, answered = 0 } = asked.unit ?? {};
  const missing = how === 'answered' ? needed - answered - 1 : 0;
  return (
    <p className="preview" role="status">
      {how === 'answered' ? 'Answer saved.' : 'Request cancelled.'}{' '}
      <ExecutionLink id={asked.execution} />{' '}
      {missing > 0 ? `needs ${plural(missing, 'more answer')}.` : 'resumed.'}
    </p>
  );
}

function NoRequests({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  return (
    <Empty title={isFiltered ? 'No open requests for this assignee' : 'No open requests'}>
      <p>
        When a pipeline calls <code>ctx.await('approval', …)</code>, its request appears here until
        it is answered or times out.
      </p>
    </Empty>
  );
}

interface ElsewhereProps {
  readonly id: string;
  readonly onNext: Looking['onNext'];
}

const OPEN: ReadonlySet<string> = new Set(['open', 'early']);

/** A request that is not in the list: older than the loaded pages, or closed since it was selected. */
function Elsewhere({ id, onNext }: ElsewhereProps): ReactNode {
  const read = useRead(requestTo('GET /v1/awaits/:id', { id }));
  const { data: asked } = read;
  if (asked !== undefined && OPEN.has(asked.status)) {
    return <Question asked={asked} onEnd={(how) => onNext({ asked, how })} />;
  }
  return (
    <section className="card question" aria-label="Selected request">
      <Shown of={read}>
        <h2>No longer open</h2>
        <p>
          {asked?.status !== 'answered'
            ? 'Closed'
            : asked.answer?.by === undefined
              ? 'Answered'
              : `Answered by ${actorText(asked.answer.by)}`}
          {asked === undefined ? null : (
            <>
              {' '}
              while you were viewing it (<ExecutionLink id={asked.execution} />
              ). Your answer was not sent.
            </>
          )}
        </p>
      </Shown>
      <div className="acts">
        <button type="button" onClick={() => onNext()}>
          Next request
        </button>
      </div>
    </section>
  );
}
