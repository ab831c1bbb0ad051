// The frame around every page: sign-in, navigation, the demo tour and the page itself.

import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';
import { StaleProvider, useStale } from './api/contact.ts';
import { useLive } from './api/live.ts';
import { useCaller } from './api/reads.ts';
import { Guide } from './guide.tsx';
import { Nav } from './nav.tsx';
import { isAllowed, type PageSpec, READERS } from './page-spec.ts';
import { AnswerPage } from './pages/answer.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { PAGES } from './pages.tsx';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { Empty, PageHead, ProblemNote } from './parts/notes.tsx';
import { Link, useLocation } from './router.tsx';
import { StaleBanner, Topbar } from './topbar.tsx';

export function App(): ReactNode {
  const { path } = useLocation();
  const link = /^\/answer\/(.+)$/.exec(path)?.[1];
  return link === undefined ? <Console /> : <AnswerPage link={link} />;
}

function Console(): ReactNode {
  const caller = useCaller();
  const code = caller.error?.code;
  if (code === 'key-required') return <SignIn />;
  // The project selected earlier may be gone, or closed to this key.
  if (code === 'project-denied' || code === 'project-unknown')
    return <SignIn problem={caller.error} />;
  if (caller.data === undefined) return <Arriving error={caller.error} />;
  return (
    <StaleProvider>
      <Frame caller={caller.data} />
    </StaleProvider>
  );
}

/** Shown until the coordinator has returned the signed-in caller. */
function Arriving({ error }: { readonly error: unknown }): ReactNode {
  return (
    <main className="alone">
      {error === null ? (
        <p className="arriving" role="status">
          Connecting to the coordinator…
        </p>
      ) : (
        <ProblemNote error={error} />
      )}
    </main>
  );
}

function Frame({ caller }: { readonly caller: CallerMessage }): ReactNode {
  const mayRead = READERS.some((role) => caller.roles.includes(role));
  useLive(mayRead);
  const isStale = useStale();
  const { path } = useLocation();
  const found = PAGES.map((page) => ({ page, match: page.path.exec(path) })).find(
    ({ match }) => match !== null,
  );
  const title = found?.page.title ?? 'Not found';
  // A layout effect, so that a page can set a more specific title in its own effect.
  useLayoutEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  // Screen readers announce the new page and continue from its top.
  useEffect(() => {
    if (shown.current !== path) main.current?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
  return (
    <div className={isStale ? 'frame frame-stale' : 'frame'}>
      <a className="skip" href="#main">
        Skip to main content
      </a>
      <Nav path={path} caller={caller} />
      <Topbar />
      <main id="main" ref={main} tabIndex={-1}>
        <StaleBanner />
        {caller.roles.includes('operate') ? <Guide /> : null}
        <ErrorBoundary key={path} title={title}>
          {found === undefined ? (
            <Missing />
          ) : isAllowed(found.page, caller.roles) ? (
            found.page.show(found.match?.[1] ?? '')
          ) : (
            <NotAllowed page={found.page} caller={caller} />
          )}
        </ErrorBoundary>
      </main>
    </div>
  );
}

function Missing(): ReactNode {
  return (
    <>
      <PageHead title="Not found" />
      <Empty title="Page not found">
        <p>
          <Link to="/executions">Go to Executions</Link>
        </p>
      </Empty>
    </>
  );
}

interface NotAllowedProps {
  readonly page: PageSpec;
  readonly caller: CallerMessage;
}

function NotAllowed({ page, caller }: NotAllowedProps): ReactNode {
  return (
    <>
      <PageHead title={page.title} />
      <Empty title="You don't have access to this page">
        <p>
          Requires role {page.allows.join(' or ')}; your key has {caller.roles.join(', ')}. Sign in
          with another key or ask an admin.
        </p>
      </Empty>
    </>
  );
}
