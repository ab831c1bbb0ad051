// What has ended and was removed: found by words of its key, by pipeline, by how and when it ended.

import { type ReactNode, useId, useState } from 'react';
import type { ArchivedMessage } from '../../../src/features/retention/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { withTyped } from '../api/call.ts';
import { itemsOf, useCaller, usePages } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import { durationText, plural, shortId } from '../model/words.ts';
import { Status, Tags, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { type Column, LongTable } from '../parts/table.tsx';
import { go, goWith, Link, type Place, usePlace } from '../router.tsx';
import { RunButton } from './archive-run.tsx';

const COLUMNS: readonly Column<ArchivedMessage>[] = [
  {
    title: 'Execution',
    width: '10.5rem',
    cell: ({ id }) => (
      <Link className="ident" to={`/archive/${id}`} title={id}>
        {shortId(id)}
      </Link>
    ),
  },
  {
    title: 'Pipeline',
    width: 'minmax(8rem, 1fr)',
    cell: ({ pipeline }) => <span title={pipeline}>{pipeline}</span>,
  },
  { title: 'Status', width: '8.5rem', cell: ({ status }) => <Status status={status} /> },
  { title: 'Ended', width: '7.5rem', cell: ({ endedAt }) => <Time at={endedAt} /> },
  {
    title: 'Took',
    width: '5.5rem',
    isNumber: true,
    cell: ({ submittedAt, endedAt }) => durationText(Date.parse(endedAt) - Date.parse(submittedAt)),
  },
  { title: 'Archived', width: '7.5rem', cell: ({ archivedAt }) => <Time at={archivedAt} /> },
  {
    title: 'Key',
    width: 'minmax(7rem, 1.4fr)',
    cell: ({ key = '' }) => <span title={key}>{key}</span>,
  },
  { title: 'Tags', width: 'minmax(6rem, 1fr)', cell: ({ tags }) => <Tags tags={tags} /> },
];

const NAMES = ['text', 'pipeline', 'tag', 'status', 'from', 'to'] as const;

type Filter = Readonly<Record<(typeof NAMES)[number], string>>;

function filterIn({ query }: Place): Filter {
  const given = NAMES.map((name) => [name, query.get(name) ?? ''] as const);
  return Object.fromEntries(given) as unknown as Filter;
}

/** A day of the reader, as the coordinator's moment. */
function momentOf(day: string): string {
  const at = day === '' ? Number.NaN : Date.parse(`${day}T00:00:00`);
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}

export function ArchivePage(): ReactNode {
  const place = usePlace();
  const { data: caller } = useCaller();
  const filter = filterIn(place);
  const request = withTyped(requestTo('GET /v1/archive', { limit: 200 }), {
    ...filter,
    from: momentOf(filter.from),
    to: momentOf(filter.to),
  });
  const pages = usePages(request);
  const items = itemsOf(pages);
  const isFiltered = NAMES.some((name) => filter[name] !== '');
  const more = pages.hasNextPage ? ' and more' : '';
  return (
    <>
      <PageHead
        title="Archive"
        about={
          pages.data === undefined
            ? ' '
            : `${plural(items.length, 'execution')}${more}, the last ended first`
        }
      >
        {caller?.roles.includes('operate') === true && caller.hasArchive ? <RunButton /> : null}
      </PageHead>
      <Search key={place.query.toString()} place={place} filter={filter} />
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={isFiltered ? <NothingFits /> : <NothingYet />}
      >
        <LongTable
          label="Archive"
          columns={COLUMNS}
          items={items}
          keyOf={({ id }) => id}
          pages={pages}
        />
      </Shown>
    </>
  );
}

function NothingFits(): ReactNode {
  return (
    <Empty title="Nothing in the archive fits">
      <p>
        Words are whole ones of the key: <code>order-4711</code> is found by <code>4711</code>, not
        by <code>47</code>. Take a part of the filter away.
      </p>
    </Empty>
  );
}

function NothingYet(): ReactNode {
  return (
    <Empty title="Nothing was archived yet">
      <p>Ended executions are kept for ever. To archive them, set a folder and a retention:</p>
      <pre>holdfast serve --archive-folder ./archive --retention-completed-days 30</pre>
      <p>Then it is written here as documents that people can read, and its rows are removed.</p>
    </Empty>
  );
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface SearchProps {
  readonly place: Place;
  readonly filter: Filter;
}

function Search({ place, filter }: SearchProps): ReactNode {
  const [typed, setTyped] = useState(filter);
  const id = useId();
  const field = (name: keyof Filter) => ({
    id: `${id}${name}`,
    value: typed[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      setTyped({ ...typed, [name]: event.target.value }),
  });
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        const text = typed.text.trim();
        if (ID.test(text)) go(`/archive/${text}`);
        else goWith(place, { ...typed, text });
      }}
    >
      <div className="field field-wide">
        <label htmlFor={`${id}text`}>Words of the key, or an id</label>
        <input type="search" {...field('text')} />
      </div>
      <div className="field">
        <label htmlFor={`${id}pipeline`}>Pipeline</label>
        <input {...field('pipeline')} />
      </div>
      <div className="field">
        <label htmlFor={`${id}tag`}>Tag</label>
        <input {...field('tag')} />
      </div>
      <div className="field">
        <label htmlFor={`${id}status`}>Status</label>
        <select {...field('status')}>
          <option value="">any</option>
          {[...ENDED].map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={`${id}from`}>Ended from</label>
        <input type="date" {...field('from')} />
      </div>
      <div className="field">
        <label htmlFor={`${id}to`}>Ended before</label>
        <input type="date" {...field('to')} />
      </div>
      <button type="submit">Search</button>
    </form>
  );
}
