// Which executions are listed: what is typed, what is chosen, and what was kept under a name.

import { type ReactNode, useId, useState } from 'react';
import { STATUSES } from '../model/statuses.ts';
import { go, goWith, type Place } from '../router.tsx';

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function Filters({ place }: { readonly place: Place }): ReactNode {
  return (
    <div className="filters">
      <Search place={place} key={place.query.toString()} />
      <StatusChoice place={place} />
      <Views place={place} />
    </div>
  );
}

/** `pipeline:order tag:vip total=17 hold:paused`, or an id. */
function Search({ place }: { readonly place: Place }): ReactNode {
  const [text, setText] = useState(() => textOf(place));
  const [problem, setProblem] = useState('');
  const id = useId();
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = text.trim();
        if (ID.test(typed)) go(`/executions/${typed}`);
        else {
          const read = readText(typed);
          setProblem(typeof read === 'string' ? read : '');
          if (typeof read !== 'string') goWith(place, read);
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
        placeholder="pipeline:order  tag:vip  total=17  hold:paused — or an id"
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

function textOf({ query }: Place): string {
  const parts = ['pipeline', 'tag', 'hold'].flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [`${name}:${value}`];
  });
  const attribute = query.get('attribute');
  if (attribute !== null) parts.push(`${attribute}=${query.get('equals') ?? ''}`);
  return parts.join(' ');
}

type Typed = Record<'pipeline' | 'tag' | 'hold' | 'attribute' | 'equals', string | undefined>;

/** What it stands for, or what is wrong with it. */
export function readText(text: string): Typed | string {
  const typed: Typed = {
    ...{ pipeline: undefined, tag: undefined, hold: undefined },
    ...{ attribute: undefined, equals: undefined },
  };
  for (const part of text.split(/\s+/).filter((each) => each !== '')) {
    const [, name, value] = /^(pipeline|tag|hold):(.+)$/.exec(part) ?? [];
    const [, attribute, equals] = /^([^=:]+)=(.*)$/.exec(part) ?? [];
    if (name !== undefined) typed[name as 'pipeline'] = value;
    else if (attribute !== undefined) Object.assign(typed, { attribute, equals });
    else if (!part.includes(':')) typed.pipeline = part;
    else return `"${part}" is no filter. There are pipeline:…, tag:…, hold:… and attribute=value.`;
  }
  return typed;
}

function StatusChoice({ place }: { readonly place: Place }): ReactNode {
  const chosen = place.query.getAll('status');
  return (
    <fieldset className="chips">
      <legend className="hidden">Status</legend>
      {STATUSES.map((status) => {
        const isOn = chosen.includes(status);
        return (
          <label key={status} className={isOn ? 'chip chip-on' : 'chip'}>
            <input
              type="checkbox"
              checked={isOn}
              onChange={() => {
                const rest = chosen.filter((each) => each !== status);
                goWith(place, { status: isOn ? rest : [...rest, status] });
              }}
            />
            {status}
          </label>
        );
      })}
    </fieldset>
  );
}

const VIEWS_KEY = 'holdfast.views';

interface View {
  readonly name: string;
  readonly query: string;
}

const OWN_VIEWS: readonly View[] = [
  { name: 'All', query: '' },
  { name: 'Open', query: 'status=queued&status=running&status=waiting' },
  { name: 'Failed', query: 'status=failed&status=quarantined' },
  { name: 'Paused', query: 'hold=paused' },
];

function keptViews(): readonly View[] {
  try {
    return JSON.parse(window.localStorage.getItem(VIEWS_KEY) ?? '[]') as readonly View[];
  } catch {
    return [];
  }
}

function Views({ place }: { readonly place: Place }): ReactNode {
  const [kept, setKept] = useState(keptViews);
  const query = place.query.toString();
  const keep = (views: readonly View[]): void => {
    window.localStorage.setItem(VIEWS_KEY, JSON.stringify(views));
    setKept(views);
  };
  const isKnown = [...OWN_VIEWS, ...kept].some((view) => view.query === query);
  return (
    <div className="views">
      {[...OWN_VIEWS, ...kept].map((view) => (
        <button
          key={view.name}
          type="button"
          className="view"
          aria-pressed={view.query === query}
          onClick={() => go(view.query === '' ? place.path : `${place.path}?${view.query}`)}
        >
          {view.name}
        </button>
      ))}
      {isKnown ? null : <KeepView onKeep={(name) => keep([...kept, { name, query }])} />}
      {kept.some((view) => view.query === query) ? (
        <button
          type="button"
          className="quiet"
          onClick={() => keep(kept.filter((view) => view.query !== query))}
        >
          Forget this view
        </button>
      ) : null}
    </div>
  );
}

function KeepView({ onKeep }: { readonly onKeep: (name: string) => void }): ReactNode {
  const [name, setName] = useState<string>();
  if (name === undefined) {
    return (
      <button type="button" className="quiet" onClick={() => setName('')}>
        Keep this view…
      </button>
    );
  }
  return (
    <form
      className="keep-view"
      onSubmit={(event) => {
        event.preventDefault();
        onKeep(name.trim());
      }}
    >
      <input
        aria-label="Name of the view"
        placeholder="Name of the view"
        required
        maxLength={40}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit">Keep</button>
    </form>
  );
}
