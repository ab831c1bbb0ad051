// The command palette: finds pages and executions from the keyboard.

import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';
import { ID, readSearch, searchQuery } from './model/search-text.ts';
import { shortId } from './model/words.ts';
import { isAllowed } from './page-spec.ts';
import { PAGES } from './pages.tsx';
import { Dialog } from './parts/dialog.tsx';
import { useFound } from './parts/found.ts';
import { go } from './router.tsx';

interface PaletteProps {
  readonly caller: CallerMessage;
  readonly onClose: () => void;
}

interface Option {
  readonly key: string;
  readonly text: string;
  readonly about: string;
  readonly to: string;
}

export function Palette({ caller, onClose }: PaletteProps): ReactNode {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const options = useOptions(text.trim(), caller);
  const read = readSearch(text, () => false);
  const chosen = Math.min(at, options.length - 1);
  const open = (option: Option | undefined): void => {
    if (option === undefined) return;
    onClose();
    go(option.to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const change = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (change !== undefined) {
      event.preventDefault();
      setAt((chosen + change + options.length) % Math.max(1, options.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(options[chosen]);
    }
  };
  return (
    <Dialog title="Search" onClose={onClose} className="palette">
      <input
        type="search"
        role="combobox"
        aria-label="Search by ID, key, tag or attribute"
        placeholder="ID, key, pipeline:order tag:vip total=17, or a page"
        aria-expanded="true"
        aria-controls={`${id}options`}
        aria-activedescendant={options.length === 0 ? undefined : `${id}${chosen}`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {/* biome-ignore-start lint/a11y: the field keeps the focus and moves the active option */}
      <ul role="listbox" id={`${id}options`} aria-label="Results">
        {options.map((option, index) => (
          <li
            key={option.key}
            id={`${id}${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => open(option)}
          >
            <span>{option.text}</span> <span className="about">{option.about}</span>
          </li>
        ))}
      </ul>
      {/* biome-ignore-end lint/a11y: see above */}
      <p className="search-problem" role="status">
        {typeof read === 'string' ? read : ''}
      </p>
    </Dialog>
  );
}

function useOptions(text: string, caller: CallerMessage): readonly Option[] {
  const found = useFound(text);
  const pages = PAGES.filter(
    (page) =>
      page.nav !== undefined &&
      isAllowed(page, caller.roles) &&
      page.title.toLowerCase().includes(text.toLowerCase()),
  ).map(({ title, nav = '/' }) => ({ key: nav, text: title, about: 'Page', to: nav }));
  if (text === '') return pages;
  if (ID.test(text)) {
    const to = `/executions/${text.toLowerCase()}`;
    return [{ key: text, text: shortId(text), about: 'Execution', to }];
  }
  const executions = found.map(({ id, key, pipeline, status }) => ({
    key: id,
    text: key ?? shortId(id),
    about: `${pipeline} · ${status}`,
    to: `/executions/${id}`,
  }));
  return [...executions, ...pages, ...searchOptions(text)];
}

function searchOptions(text: string): readonly Option[] {
  const read = readSearch(text, () => false);
  if (typeof read === 'string') return [];
  const to = `/executions?${searchQuery(read)}`;
  return [{ key: 'search', text: `Search executions for ${text}`, about: 'Filter', to }];
}
