// Tabs, selected by mouse or with the arrow keys.

import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react';

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
  /** Shown beside a name, such as a count. */
  readonly beside?: Readonly<Partial<Record<Name, ReactNode>>>;
  readonly children: ReactNode;
}

export function Tabs<Name extends string>(props: TabsProps<Name>): ReactNode {
  const { label, names, chosen, onChoose, beside = {}, children } = props;
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = nextOf(event.key, names.indexOf(chosen), names.length);
    const name = next === undefined ? undefined : names[next];
    if (next === undefined || name === undefined) return;
    event.preventDefault();
    onChoose(name);
    list.current?.querySelectorAll('button').item(next).focus();
  };
  return (
    <>
      <div ref={list} className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {names.map((name, index) => (
          <button
            key={name}
            id={`${id}${index}`}
            type="button"
            role="tab"
            aria-selected={name === chosen}
            aria-controls={`${id}panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {name}
            {(beside as Readonly<Record<string, ReactNode>>)[name]}
          </button>
        ))}
      </div>
      <div id={`${id}panel`} role="tabpanel" aria-labelledby={`${id}${names.indexOf(chosen)}`}>
        {children}
      </div>
    </>
  );
}

function nextOf(key: string, at: number, count: number): number | undefined {
  if (key === 'ArrowRight') return (at + 1) % count;
  if (key === 'ArrowLeft') return (at - 1 + count) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : undefined;
}
