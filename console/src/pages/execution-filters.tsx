// The filters of the executions list: search text, statuses and saved views.

import { type ReactNode, useId, useState } from 'react';
import { useOverview } from '../api/overview.ts';
import { ID, readSearch, writeSearch } from '../model/search-text.ts';
import { STATUSES } from '../model/statuses.ts';
import { statusText } from '../model/words.ts';
import { Time } from '../parts/marks.tsx';
import { RANGES } from '../parts/range-choice.tsx';
import { type BuiltInView, SavedViews } from '../parts/saved-views.tsx';
import { go, goWith, type PageLocation } from '../router.tsx';

interface FiltersProps {
  readonly location: PageLocation;
  /** The begin of the relative range in the URL. */
  readonly from: string | undefined;
}

export function Filters({ location, from }: FiltersProps): ReactNode {
  return (
    <div className="filters">
      <div className="search-line">
        <Search location={location} />
        <SortChoice location={location} />
        <TimeChoice location={location} from={from} />
      </div>
      <StatusChoice location={location} />
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
          if (typeof read === 'string') return;
          // The chips show the statuses, so a search without one keeps theirs.
          const { status, ...rest } = read;
          goWith(location, { ...rest, ...(status.length > 0 && { status }) });
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

const CUSTOM = 'custom';

/** When executions were submitted: a range up to now, or two times. */
function TimeChoice({ location, from }: FiltersProps): ReactNode {
  const { query } = location;
  const isCustom = query.has('submittedFrom') || query.has('submittedTo');
  const choose = (range: string): void => {
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    goWith(location, {
      range: range === CUSTOM ? undefined : range,
      submittedFrom: range === CUSTOM ? (from ?? hourAgo) : undefined,
      submittedTo: undefined,
    });
  };
  return (
    <>
      <select
        aria-label="Submitted"
        value={isCustom ? CUSTOM : from === undefined ? '' : (query.get('range') ?? '')}
        onChange={({ target }) => choose(target.value)}
      >
        <option value="">Any time</option>
        {RANGES.map(([name, text]) => (
          <option key={name} value={name}>
            Last {text}
          </option>
        ))}
        <option value={CUSTOM}>Between two times</option>
      </select>
      {isCustom ? (
        <>
          <TimeField location={location} name="submittedFrom" label="Submitted from" />
          <TimeField location={location} name="submittedTo" label="Submitted before" />
        </>
      ) : null}
      {from === undefined ? null : (
        <p className="about">
          since <Time at={from} />
        </p>
      )}
    </>
  );
}

interface TimeFieldProps {
  readonly location: PageLocation;
  readonly name: 'submittedFrom' | 'submittedTo';
  readonly label: string;
}

/** In the browser's time zone. */
function TimeField({ location, name, label }: TimeFieldProps): ReactNode {
  const at = Date.parse(location.query.get(name) ?? '');
  const offsetMs = new Date(at).getTimezoneOffset() * 60_000;
  const local = Number.isNaN(at) ? '' : new Date(at - offsetMs).toISOString().slice(0, 19);
  return (
    <label className="time-field">
      {label}
      <input
        key={local}
        type="datetime-local"
        step={1}
        defaultValue={local}
        onBlur={({ target }) => {
          if (target.value === local) return;
          const typed = new Date(target.value);
          goWith(location, { [name]: target.value === '' ? undefined : typed.toISOString() });
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.currentTarget.blur();
        }}
      />
    </label>
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
