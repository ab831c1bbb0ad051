// The line above every page: search, and whether the figures below are current.

import type { ReactNode } from 'react';
import type { Contact } from './api/contact.ts';
import { timeText } from './model/time-text.ts';
import { durationText } from './model/words.ts';
import { Icon } from './parts/icon.tsx';
import { useContact } from './parts/stale.ts';

export function Topbar({ onSearch }: { readonly onSearch: () => void }): ReactNode {
  return (
    <header className="topbar">
      <button type="button" className="search-open" onClick={onSearch}>
        <Icon name="search" />
        <span className="search-text">Search by ID, key, tag or attribute</span>
        <kbd>⌘K</kbd>
      </button>
      <Liveness />
    </header>
  );
}

function Liveness(): ReactNode {
  const contact = useContact();
  return (
    <p className={`liveness liveness-${contact.kind}`}>
      <LivenessText contact={contact} />
    </p>
  );
}

function LivenessText({ contact }: { readonly contact: Contact }): ReactNode {
  if (contact.kind === 'returning') return 'Reconnecting…';
  if (contact.kind === 'stale') return `Stale · ${durationText(contact.forMs)}`;
  return (
    <>
      Live <span className="liveness-at">· {timeText('clock', contact.receivedAt)}</span>
    </>
  );
}

/** Page-wide, because a person looks at the figures and not at a corner. */
export function StaleBanner(): ReactNode {
  const contact = useContact();
  if (contact.kind !== 'stale') return null;
  const { cause, forMs } = contact;
  return (
    <p className="stale-banner" role="alert">
      <strong>
        {cause === 'silent' ? 'The coordinator has not responded' : 'Reads have failed'} for{' '}
        {durationText(forMs)}.
      </strong>{' '}
      {cause === 'silent' ? 'These' : 'Some'} figures are from{' '}
      {timeText('clock', Date.now() - forMs)}. The console retries every few seconds.
    </p>
  );
}
