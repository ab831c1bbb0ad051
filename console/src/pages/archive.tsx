// The archive: a search by words of the key, pipeline, tag, status and day of the end.

import { type ReactNode, useId, useState } from 'react';
import type { ArchivedMessage } from '../../../src/features/retention/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { withTyped } from '../api/call.ts';
import { useCaller, useCommand, usePages } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import { durationText, shortId, statusText } from '../model/words.ts';
import { Status, Tags, Time } from '../parts/marks.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { PageList, readText } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { go, goWith, Link, type PageLocation, useLocation } from '../router.tsx';
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
    isWide: true,
    width: 'minmax(8rem, 1fr)',
    cell: ({ pipeline }) => <span title={pipeline}>{pipeline}</span>,
  },
  { title: 'Status', width: '8.5rem', cell: ({ status }) => <Status status={status} /> },
  { title: 'Ended', width: '7.5rem', cell: ({ endedAt }) => <Time at={endedAt} /> },
  {
    title: 'Duration',
    isWide: true,
    width: '5.5rem',
    isNumber: true,
    cell: ({ submittedAt, endedAt }) => durationText(Date.parse(endedAt) - Date.parse(submittedAt)),
  },
  {
    title: 'Archived',
    isWide: true,
    width: '7.5rem',
    cell: ({ archivedAt }) => <Time at={archivedAt} />,
  },
  {
    title: 'Key',
    width: 'minmax(7rem, 1.4fr)',
    cell: ({ key = '' }) => <span title={key}>{key}</span>,
  },
  {
    title: 'Tags',
    isWide: true,
    width: 'minmax(6rem, 1fr)',
    cell: ({ tags }) => <Tags tags={tags} />,
  },
];

const NAMES = ['text', 'pipeline', 'tag', 'status', 'from', 'to'] as const;

type Filter = Readonly<Record<(typeof NAMES)[number], string>>;

function filterIn({ query }: PageLocation): Filter {
  const given = NAMES.map((name) => [name, query.get(name) ?? ''] as const);
  return Object.fromEntries(given) as unknown as Filter;
}

/** Midnight of the day in the browser's time zone, as the API expects it. */
function startOf(day: string): string {
  const at = day === '' ? Number.NaN : Date.parse(`${day}T00:00:00`);
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}

export function ArchivePage(): ReactNode {
  const location = useLocation();
  const { data: caller } = useCaller();
  const filter = filterIn(location);
  const request = withTyped(requestTo('GET /v1/archive', { limit: 200 }), {
    ...filter,
    from: startOf(filter.from),
    to: startOf(filter.to),
  });
  const pages = usePages(request);
  const isFiltered = NAMES.some((name) => filter[name] !== '');
  return (
    <>
      <PageHead
        title="Archive"
        about={`${readText(pages, 'execution')} · most recently ended first`}
      >
        {caller?.roles.includes('operate') === true && caller.hasArchive ? <RunButton /> : null}
      </PageHead>
      <Search key={location.query.toString()} location={location} filter={filter} />
      <PageList
        label="Archive"
        columns={COLUMNS}
        pages={pages}
        empty={isFiltered ? <NothingFits /> : <NothingYet />}
      />
    </>
  );
}

function NothingFits(): ReactNode {
  return (
    <Empty title="No matches">
      <p>
        Search matches whole words of the key: <code>order-4711</code> matches <code>4711</code>,
        not <code>47</code>. Remove a filter.
      </p>
    </Empty>
  );
}

function NothingYet(): ReactNode {
  const command = useCommand();
  return (
    <Empty title="Archive is empty">
      <p>Ended executions are kept forever unless archiving is configured:</p>
      <pre>{command} serve --archive-folder ./archive --retention-completed-days 30</pre>
      <p>They are then written as readable documents and removed from the database.</p>
    </Empty>
  );
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface SearchProps {
  readonly location: PageLocation;
  readonly filter: Filter;
}

function Search({ location, filter }: SearchProps): ReactNode {
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
        else goWith(location, { ...typed, text });
      }}
    >
      <div className="field field-wide">
        <label htmlFor={`${id}text`}>Key words or ID</label>
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
          <option value="">Any status</option>
          {[...ENDED].map((status) => (
            <option key={status} value={status}>
              {statusText(status)}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={`${id}from`}>Ended after</label>
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
