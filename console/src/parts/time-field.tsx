// A time in the URL that a person types.

import type { ReactNode } from 'react';
import { atOfField, fieldText } from '../model/time-text.ts';
import { goWith, type PageLocation } from '../router.tsx';

interface TimeFieldProps {
  readonly location: PageLocation;
  /** Its parameter in the URL. */
  readonly name: string;
  readonly label: string;
}

/** Takes effect when the field loses focus. */
export function TimeField({ location, name, label }: TimeFieldProps): ReactNode {
  const text = fieldText(location.query.get(name) ?? '');
  return (
    <label className="time-field">
      {label}
      <input
        key={text}
        type="datetime-local"
        step={1}
        defaultValue={text}
        onBlur={({ target }) => {
          if (target.value !== text) goWith(location, { [name]: atOfField(target.value) });
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') event.currentTarget.blur();
        }}
      />
    </label>
  );
}
