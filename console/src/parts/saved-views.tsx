// Saved views of a page: filters under a name, shared by all users of the project. The address has the
// view beside its filter, so that it works as a link and shows changes since.

import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { SavedViewMessage } from '../../../src/features/views/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useMay, useOperation, useRead } from '../api/reads.ts';
import { go, type PageLocation } from '../router.tsx';
import { OperationButton } from './dialog.tsx';
import { ProblemNote } from './notes.tsx';

export interface BuiltInView {
  readonly name: string;
  readonly query: string;
}

interface SavedViewsProps {
  readonly location: PageLocation;
  readonly builtIn: readonly BuiltInView[];
}

/** The most views of a project: all of them in one page. */
const LIMIT = 1_000;

export function SavedViews({ location, builtIn }: SavedViewsProps): ReactNode {
  const page = location.path.slice(1);
  const { data } = useRead(requestTo('GET /v1/views', { page, limit: LIMIT }));
  const saved = data?.items.toSorted((a, b) => a.name.localeCompare(b.name)) ?? [];
  const { operate } = useMay();
  const id = location.query.get('view');
  const chosen = saved.find((view) => view.id === id);
  const query = filterText(location.query);
  const arrivedAt = useRef<string>(undefined);
  useEffect(() => {
    if (chosen === undefined || arrivedAt.current === chosen.id) return;
    arrivedAt.current = chosen.id;
    // A link may name the view alone. Later, an empty filter is the user's choice.
    if (query === '') goTo(location, chosen, 'replace');
  }, [chosen, query, location]);
  const isKnown = [...builtIn, ...saved].some((view) => isSame(view.query, query));
  const names = [...builtIn, ...saved].map((view) => view.name);
  return (
    <div className="views">
      {builtIn.map((view) => (
        <button
          key={view.name}
          type="button"
          className="view"
          aria-pressed={chosen === undefined && isSame(view.query, query)}
          onClick={() => goTo(location, view)}
        >
          {view.name}
        </button>
      ))}
      {saved.length === 0 ? null : (
        <select
          aria-label="Saved views"
          value={chosen?.id ?? ''}
          onChange={({ target }) => {
            const view = saved.find((each) => each.id === target.value);
            goTo(location, view ?? { query: '' });
          }}
        >
          <option value="">Saved views…</option>
          {saved.map((view) => (
            <option key={view.id} value={view.id}>
              {view.name}
            </option>
          ))}
        </select>
      )}
      {operate && chosen !== undefined ? (
        <ChosenView key={chosen.id} view={chosen} query={query} names={names} location={location} />
      ) : null}
      {operate && !isKnown ? (
        <NameForm
          key={query}
          label={chosen === undefined ? 'Save view…' : 'Save as new view…'}
          names={names}
          page={page}
          query={query}
          idOf={(name) => newId(name, saved)}
          onSaved={(view) => goTo(location, view)}
        />
      ) : null}
    </div>
  );
}

interface ChosenViewProps {
  readonly view: SavedViewMessage;
  /** The filter in the address. */
  readonly query: string;
  readonly names: readonly string[];
  readonly location: PageLocation;
}

function ChosenView({ view, query, names, location }: ChosenViewProps): ReactNode {
  const { id, name, page } = view;
  const change = useOperation();
  return (
    <>
      {isSame(view.query, query) ? null : (
        <button
          type="button"
          onClick={() => change.mutate(requestTo('PUT /v1/views/:id', { id, name, page, query }))}
        >
          Save changes to "{name}"
        </button>
      )}
      <NameForm
        label="Rename…"
        initial={name}
        names={names}
        page={page}
        query={view.query}
        idOf={() => id}
      />
      <OperationButton
        label="Delete view…"
        className="quiet"
        ask={{
          title: `Delete view "${name}"?`,
          sentence: 'Removes it for all users of the project. Executions do not change.',
          verb: 'Delete view',
          isDanger: true,
          needsReason: 'none',
          done: `View "${name}" deleted`,
          operation: () => requestTo('DELETE /v1/views/:id', { id }),
          undo: requestTo('PUT /v1/views/:id', { id, name, page, query: view.query }),
          after: () => goTo(location, { query }),
        }}
      />
      <ProblemNote error={change.error} />
    </>
  );
}

interface NameFormProps {
  /** The button that shows the form. */
  readonly label: string;
  readonly initial?: string;
  /** Names that are taken. */
  readonly names: readonly string[];
  readonly page: string;
  readonly query: string;
  readonly idOf: (name: string) => string;
  readonly onSaved?: (view: Pick<SavedViewMessage, 'id' | 'query'>) => void;
}

function NameForm({ label, initial = '', names, ...save }: NameFormProps): ReactNode {
  const { page, query, idOf, onSaved } = save;
  const operation = useOperation();
  const [name, setName] = useState<string>();
  const [problem, setProblem] = useState('');
  if (name === undefined) {
    return (
      <button type="button" className="quiet" onClick={() => setName(initial)}>
        {label}
      </button>
    );
  }
  return (
    <form
      className="save-view"
      onSubmit={(event) => {
        event.preventDefault();
        const trimmed = name.trim();
        const isTaken = trimmed !== initial && names.includes(trimmed);
        setProblem(isTaken ? `A view named "${trimmed}" already exists.` : '');
        if (isTaken) return;
        const id = idOf(trimmed);
        operation.mutate(requestTo('PUT /v1/views/:id', { id, name: trimmed, page, query }), {
          onSuccess: () => {
            setName(undefined);
            onSaved?.({ id, query });
          },
        });
      }}
    >
      <input
        aria-label="View name"
        placeholder="View name"
        required
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <button type="submit">Save</button>
      <ProblemNote error={operation.error} />
      {problem === '' ? null : (
        <p className="search-problem" role="status">
          {problem}
        </p>
      )}
    </form>
  );
}

type Chosen = Pick<SavedViewMessage, 'query'> & Partial<Pick<SavedViewMessage, 'id'>>;

function goTo({ path }: PageLocation, { id, query }: Chosen, how: 'push' | 'replace' = 'push') {
  const params = new URLSearchParams(query);
  if (id !== undefined) params.set('view', id);
  const text = params.toString();
  go(text === '' ? path : `${path}?${text}`, how);
}

/** The filter of an address, without its view. */
function filterText(query: URLSearchParams): string {
  const rest = new URLSearchParams(query);
  rest.delete('view');
  return rest.toString();
}

/** The order of filters does not matter. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => {
    const params = new URLSearchParams(text);
    return [...params]
      .map(([name, value]) => `${name}=${value}`)
      .toSorted()
      .join('&');
  });
  return a === b;
}

/** A readable id that no other view has. */
function newId(name: string, saved: readonly SavedViewMessage[]): string {
  const words = name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-');
  const base = words.replace(/^-+|-+$/g, '').slice(0, 56) || 'view';
  const taken = new Set(saved.map(({ id }) => id));
  for (let nth = 1; ; nth += 1) {
    const id = nth === 1 ? base : `${base}-${nth}`;
    if (!taken.has(id)) return id;
  }
}
