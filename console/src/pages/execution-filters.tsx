// The filters of the executions list: search text, statuses and saved views.

import { type ReactNode, useId, useState } from 'react';
import { useOverview } from '../api/overview.ts';
import { readSearch, writeSearch } from '../model/search-text.ts';
import { STATUSES } from '../model/statuses.ts';
import { statusText } from '../model/words.ts';
import { Time } from '../parts/marks.tsx';
import { type BuiltInView, SavedViews } from '../parts/saved-views.tsx';
import { go, goWith, type PageLocation } from '../router.tsx';

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function Filters({ location }: { readonly location: PageLocation }): ReactNode {
  return (
    <div className="filters">
      <div className="search-line">
        <Search location={location} />
        <SortChoice location={location} />
      </div>
      <StatusChoice location={location} />
      <RangeNote location={location} />
      <SavedViews location={location} builtIn={BUILT_IN_VIEWS} />
    </div>
  );
}

function Search({ location }: { readonly location: PageLocation }): ReactNode {
  const written = writeSearch(location.query);
  const { data: overview } = useOverview();
  const pipelines = overview?.pipelines.map(({ pipeline }) => pipeline) ?? [];
  const [text, setText] = useState(written);
  const [problem, setProblem] = useState('');
  const [shown, setShown] = useState(written);
  // The URL changed, by a view or the back button: the field follows.
  if (shown !== written) {
    setShown(written);
    setText(written);
    setProblem('');
  }
  const id = useId();
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = text.trim();
        if (ID.test(typed)) go(`/executions/${typed.toLowerCase()}`);
        else {
          const read = readSearch(typed, (word) => pipelines.includes(word));
          setProblem(typeof read === 'string' ? read : '');
          if (typeof read !== 'string') goWith(location, read);
        }
      }}
    >
      <label htmlFor={id} className="hidden">
        Search
      </label>
      <input
        id={id}
        type="search"
        value={text}
        placeholder="Key or ID, or pipeline:order release:v2 worker:w-1 tag:vip total>=17"
        onChange={(event) => setText(event.target.value)}
        aria-describedby={`${id}-problem`}
      />
      <button type="submit">Search</button>
      <p id={`${id}-problem`} className="search-problem" role="status">
        {problem}
      </p>
    </form>
  );
}

const SORTS = [
  ['newest', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['ended', 'Last ended first'],
] as const;

export function sortText(sort: string | null): string {
  const [, text] = SORTS.find(([name]) => name === sort) ?? SORTS[0];
  return text.toLowerCase();
}

function SortChoice({ location }: { readonly location: PageLocation }): ReactNode {
  return (
    <select
      aria-label="Order"
      value={location.query.get('sort') ?? 'newest'}
      onChange={({ target }) =>
        goWith(location, { sort: target.value === 'newest' ? undefined : target.value })
      }
    >
      {SORTS.map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** A range of time comes from a link, such as the one of a chart. */
function RangeNote({ location }: { readonly location: PageLocation }): ReactNode {
  const [from, to] = [location.query.get('submittedFrom'), location.query.get('submittedTo')];
  if (from === null && to === null) return null;
  return (
    <p>
      Submitted {from === null ? null : <Time at={from} />} –{' '}
      {to === null ? 'now' : <Time at={to} />}{' '}
      <button
        type="button"
        className="quiet"
        onClick={() => goWith(location, { submittedFrom: undefined, submittedTo: undefined })}
      >
        Remove time range
      </button>
    </p>
  );
}

function StatusChoice({ location }: { readonly location: PageLocation }): ReactNode {
  const chosen = location.query.getAll('status');
  const isTop = location.query.get('topLevel') === 'true';
  return (
    <fieldset className="chips">
      <legend className="hidden">Status</legend>
      <label className={isTop ? 'chip chip-on' : 'chip'}>
        <input
          type="checkbox"
          checked={isTop}
          onChange={() => goWith(location, { topLevel: isTop ? undefined : 'true' })}
        />
        Top level only
      </label>
      {STATUSES.map((status) => {
        const isOn = chosen.includes(status);
        return (
          <label key={status} className={isOn ? 'chip chip-on' : 'chip'}>
            <input
              type="checkbox"
              checked={isOn}
              onChange={() => {
                const rest = chosen.filter((each) => each !== status);
                goWith(location, { status: isOn ? rest : [...rest, status] });
              }}
            />
            {statusText(status)}
          </label>
        );
      })}
    </fieldset>
  );
}

const BUILT_IN_VIEWS: readonly BuiltInView[] = [
  { name: 'All', query: '' },
  { name: 'Open', query: 'status=queued&status=running&status=waiting' },
  { name: 'Failed', query: 'status=failed&status=quarantined' },
  { name: 'Paused', query: 'hold=paused' },
];
