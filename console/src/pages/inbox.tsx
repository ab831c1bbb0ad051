// The open requests of executions, and the selected one with its answer form.

import { type ReactNode, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import { cappedText } from '../model/attention.ts';
import { actorText, countText } from '../model/words.ts';
import { ExecutionLink } from '../parts/marks.tsx';
import { NameFilter } from '../parts/name-filter.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { goWith, type PageLocation, useLocation } from '../router.tsx';
import { RequestList } from './inbox-list.tsx';
import { type Ending, Question } from './question.tsx';

interface Selection {
  /** Without the request that this page has just ended. */
  readonly open: readonly InteractionMessage[];
  readonly chosen: string | undefined;
  readonly done: Done | undefined;
  readonly onNext: (done?: Done) => void;
}

/** The request that this page has just ended. */
interface Done {
  readonly interaction: InteractionMessage;
  readonly how: Ending;
}

/** Keeps the selected request until the user selects another one, although the list changes meanwhile. */
function useSelection(items: readonly InteractionMessage[], location: PageLocation): Selection {
  const [done, setDone] = useState<Done>();
  const [first, setFirst] = useState<string>();
  const open = items.filter(({ id }) => id !== done?.interaction.id);
  const named = location.query.get('await') ?? undefined;
  const [soonest] = open;
  if (named === undefined && first === undefined && soonest !== undefined) setFirst(soonest.id);
  const onNext = (ended?: Done): void => {
    setDone(ended);
    setFirst(undefined);
    goWith(location, { await: undefined }, { replace: true });
  };
  return { open, done, onNext, chosen: named ?? first };
}

export function InboxPage(): ReactNode {
  const location = useLocation();
  const assignee = location.query.get('assignee') ?? '';
  const often = { everyMs: 2_000 };
  const list = requestTo('GET /v1/awaits', { assignee, sort: 'due', limit: 100 });
  const pages = usePages(list, often);
  const { data: count } = useRead(requestTo('GET /v1/awaits/count', { assignee }), often);
  const { open, chosen, done, onNext } = useSelection(itemsOf(pages), location);
  const interaction = open.find(({ id }) => id === chosen);
  return (
    <>
      <PageHead
        title="Inbox"
        about={count === undefined ? '\u00a0' : cappedText(count, 'open request')}
      >
        <NameFilter
          label="Filter by assignee"
          name={assignee}
          onFilter={(name) => goWith(location, { assignee: name, await: undefined })}
        />
      </PageHead>
      {done === undefined ? null : <DoneNote done={done} />}
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && open.length === 0 && chosen === undefined}
        empty={<NoRequests isFiltered={assignee !== ''} />}
      >
        <div className="split">
          <div className="requests">
            <RequestList
              open={open}
              hasMore={pages.hasNextPage}
              chosen={chosen}
              onChoose={(id) => goWith(location, { await: id })}
            />
            <More pages={pages} />
          </div>
          {interaction !== undefined ? (
            <Question
              key={interaction.id}
              interaction={interaction}
              isTarget={location.query.has('await')}
              onEnd={(how) => onNext({ interaction, how })}
            />
          ) : chosen !== undefined && pages.data !== undefined ? (
            <UnlistedQuestion key={chosen} id={chosen} onNext={onNext} />
          ) : null}
        </div>
      </Shown>
      <Queued assignee={assignee} />
    </>
  );
}

/** Requests that nobody can see yet, because the slots of their concurrency key are taken. */
function Queued({ assignee }: { readonly assignee: string }): ReactNode {
  const at = requestTo('GET /v1/awaits', { queued: true, assignee, limit: 100 });
  const pages = usePages(at, { everyMs: 5_000 });
  const items = itemsOf(pages);
  if (items.length === 0) return null;
  const count = countText(items.length);
  return (
    <section className="card" aria-label="Waiting for a slot">
      <header className="section-head">
        <h2>Waiting for a slot</h2>
        <span className="about">
          {pages.hasNextPage ? `first ${count}` : count} · asked when a request with the same
          concurrency key ends
        </span>
      </header>
      <ul className="requests">
        {items.map(({ id, execution, call, unit }) => (
          <li key={id}>
            {unit?.name ?? call} · key <code>{unit?.concurrency?.key}</code>, at most{' '}
            {unit?.concurrency?.limit} open · <ExecutionLink id={execution} />
          </li>
        ))}
      </ul>
      <More pages={pages} />
    </section>
  );
}

function DoneNote({ done: { interaction, how } }: { readonly done: Done }): ReactNode {
  return (
    <p className="preview" role="status">
      {how === 'answered' ? 'Answer saved.' : 'Request cancelled.'}{' '}
      <ExecutionLink id={interaction.execution} /> resumed.
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

interface UnlistedProps {
  readonly id: string;
  readonly onNext: Selection['onNext'];
}

const OPEN: ReadonlySet<string> = new Set(['queued', 'open', 'early']);

/** A request on a page of the list that was not read yet, or one that ended after it was selected. */
function UnlistedQuestion({ id, onNext }: UnlistedProps): ReactNode {
  const read = useRead(requestTo('GET /v1/awaits/:id', { id }));
  const { data: interaction } = read;
  if (interaction !== undefined && OPEN.has(interaction.status)) {
    return <Question interaction={interaction} onEnd={(how) => onNext({ interaction, how })} />;
  }
  return (
    <section className="card question" aria-label="Selected request">
      <Shown of={read}>
        <h2>No longer open</h2>
        {interaction === undefined ? null : (
          <p>
            {interaction.answer?.actor === undefined
              ? 'Closed'
              : `Answered by ${actorText(interaction.answer.actor)}`}{' '}
            while you were viewing it (<ExecutionLink id={interaction.execution} />
            ). Your answer was not sent.
          </p>
        )}
      </Shown>
      <div className="actions">
        <button type="button" onClick={() => onNext()}>
          Next request
        </button>
      </div>
    </section>
  );
}
