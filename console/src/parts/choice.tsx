// One of a few options, side by side.

import type { ReactNode } from 'react';

interface ChoiceProps<Name extends string> {
  readonly label: string;
  readonly options: readonly (readonly [name: Name, text: string])[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}

export function Choice<Name extends string>(props: ChoiceProps<Name>): ReactNode {
  const { label, options, chosen, onChoose } = props;
  return (
    <fieldset className="segments" aria-label={label}>
      {options.map(([name, text]) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}
