// Page headings, and the placeholders for empty, loading and failed content.

import type { ReactNode } from 'react';
import type { StoreProblemMessage } from '../../../src/protocol/messages/execution.ts';
import { Refused } from '../api/call.ts';
import type { Pages } from '../api/reads.ts';

export function PageHead({
  title,
  beside,
  children,
  about,
}: {
  readonly title: string;
  /** On the line of the title, such as a status. */
  readonly beside?: ReactNode;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <header className="page-head">
      <div>
        <div className="page-title">
          <h1>{title}</h1>
          {beside}
        </div>
        {about === undefined ? null : <p className="about">{about}</p>}
      </div>
      <div className="page-actions">{children}</div>
    </header>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function ProblemNote({ error }: { readonly error: unknown }): ReactNode {
  if (error === null || error === undefined) return null;
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div className="problem" role="alert">
      {message} {error instanceof Refused ? <code>{error.code}</code> : null}
    </div>
  );
}

/** A store problem that slows claims or makes times wrong. */
export function StoreProblemNote({
  by,
}: {
  readonly by: StoreProblemMessage | undefined;
}): ReactNode {
  if (by === undefined) return null;
  return (
    <p className="problem" role="status">
      <strong>{by.sentence}</strong> {by.advice}
    </p>
  );
}

/** Takes the space of the content to come, so that nothing moves when it arrives. */
export function Loading({ rows = 6 }: { readonly rows?: number }): ReactNode {
  return (
    <div className="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all rows are the same
        <div className="loading-row" key={index} />
      ))}
    </div>
  );
}

interface Read {
  readonly error: unknown;
  readonly isPending: boolean;
}

/** The error, the placeholder, or the content. Put content below it inside, or it moves when this loads. */
export function Shown({
  of,
  isEmpty,
  empty,
  children,
}: {
  readonly of: Read;
  readonly isEmpty?: boolean;
  readonly empty?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <>
      <ProblemNote error={of.error} />
      {of.isPending && of.error === null ? <Loading /> : null}
      {!of.isPending && of.error === null && isEmpty === true ? empty : null}
      {isEmpty === true || of.isPending ? null : children}
    </>
  );
}

/** The next page of a list that is not a long table. */
export function More<Item>({ pages }: { readonly pages: Pages<Item> }): ReactNode {
  if (!pages.hasNextPage) return null;
  return (
    <button
      type="button"
      disabled={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      Load more
    </button>
  );
}

/** The key has the admin role, but this listener has no admin routes. */
export function AdminElsewhere(): ReactNode {
  return (
    <p className="about">
      Admin actions (ending sessions, releases, projects, keys) are disabled on this listener. Start
      the coordinator with <code>--admin main</code>, or use the admin listener.
    </p>
  );
}
