// The filters of the executions list: search text, statuses and saved views.

import { type ReactNode, useId, useState } from 'react';
import { useOverview } from '../api/overview.ts';
import { ID, readSearch, writeSearch } from '../model/search-text.ts';
import { STATUSES } from '../model/statuses.ts';
import { statusText } from '../model/words.ts';
import { Time } from '../parts/marks.tsx';
import { RANGES } from '../parts/range-choice.tsx';
import { type BuiltInView, SavedViews } from '../parts/saved-views.tsx';
import { TimeField } from '../parts/time-field.tsx';
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

/** A range of ends is read in the order of ends, as the API does. */
export function defaultSort(query: URLSearchParams): 'newest' | 'ended' {
  return query.has('endedFrom') || query.has('endedTo') ? 'ended' : 'newest';
}

export function sortText(sort: string | null): string {
  const [, text] = SORTS.find(([name]) => name === sort) ?? SORTS[0];
  return text.toLowerCase();
}

function SortChoice({ location }: { readonly location: PageLocation }): ReactNode {
  const first = defaultSort(location.query);
  return (
    <select
      aria-label="Order"
      value={location.query.get('sort') ?? first}
      onChange={({ target }) =>
        goWith(location, { sort: target.value === first ? undefined : target.value })
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
const ENDED = 'ended';

/** When executions were submitted or ended: a range up to now, or two times. */
function TimeChoice({ location, from }: FiltersProps): ReactNode {
  const { query } = location;
  const isCustom = query.has('submittedFrom') || query.has('submittedTo');
  const isByEnd = query.has('endedFrom') || query.has('endedTo');
  const choose = (range: string): void => {
    const start = from ?? new Date(Date.now() - 3_600_000).toISOString();
    goWith(location, {
      range: range === CUSTOM || range === ENDED ? undefined : range,
      submittedFrom: range === CUSTOM ? start : undefined,
      submittedTo: undefined,
      endedFrom: range === ENDED ? start : undefined,
      endedTo: undefined,
    });
  };
  return (
    <>
      <select
        aria-label="Time range"
        value={
          isByEnd ? ENDED : isCustom ? CUSTOM : from === undefined ? '' : (query.get('range') ?? '')
        }
        onChange={({ target }) => choose(target.value)}
      >
        <option value="">Any time</option>
        {RANGES.map(([name, text]) => (
          <option key={name} value={name}>
            Last {text}
          </option>
        ))}
        <option value={CUSTOM}>Submitted between two times</option>
        <option value={ENDED}>Ended between two times</option>
      </select>
      {isCustom ? (
        <>
          <TimeField location={location} name="submittedFrom" label="Submitted from" />
          <TimeField location={location} name="submittedTo" label="Submitted before" />
        </>
      ) : null}
      {isByEnd ? (
        <>
          <TimeField location={location} name="endedFrom" label="Ended from" />
          <TimeField location={location} name="endedTo" label="Ended before" />
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

interface FlagChipProps {
  readonly location: PageLocation;
  readonly name: 'topLevel' | 'staleOwner';
  readonly text: string;
}

function FlagChip({ location, name, text }: FlagChipProps): ReactNode {
  const isOn = location.query.get(name) === 'true';
  return (
    <label className={isOn ? 'chip chip-on' : 'chip'}>
      <input
        type="checkbox"
        checked={isOn}
        onChange={() => goWith(location, { [name]: isOn ? undefined : 'true' })}
      />
      {text}
    </label>
  );
}

function StatusChoice({ location }: { readonly location: PageLocation }): ReactNode {
  const chosen = location.query.getAll('status');
  return (
    <fieldset className="chips">
      <legend className="hidden">Status</legend>
      <FlagChip location={location} name="topLevel" text="Top level only" />
      <FlagChip location={location} name="staleOwner" text="Stale owner" />
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
