// The frame around every page: sign-in, navigation, the demo tour and the page itself.

import {
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';

import { useLive } from './api/live.ts';
import { useCaller } from './api/reads.ts';
import { type Opened, useKeys } from './keys.ts';
import { Nav } from './nav.tsx';
import { isAllowed, type PageSpec, READERS } from './page-spec.ts';
import { pageAt } from './pages.tsx';
import { Palette } from './palette.tsx';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { Empty, PageHead, ProblemNote } from './parts/notes.tsx';
import { StaleProvider, useStale } from './parts/stale.ts';
import { Toasts } from './parts/toast.tsx';
import { Link, useLocation } from './router.tsx';
import { useTimes } from './times.ts';
import { StaleBanner, Topbar } from './topbar.tsx';

// Parts that most visits do not need are loaded on demand. The palette is not: keys typed while it
// loads would be lost.
const Guide = lazy(async () => ({ default: (await import('./guide/guide.tsx')).Guide }));
const KeyHelp = lazy(async () => ({ default: (await import('./key-help.tsx')).KeyHelp }));
const SignIn = lazy(async () => ({ default: (await import('./pages/sign-in.tsx')).SignIn }));

export function App(): ReactNode {
  return (
    <Suspense fallback={null}>
      <Console />
    </Suspense>
  );
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
  const times = useTimes();
  const [opened, setOpened] = useState<Opened>();
  useKeys(setOpened);
  const close = (): void => setOpened(undefined);
  const { path } = useLocation();
  const found = pageAt(path);
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
      <Topbar onSearch={() => setOpened('palette')} />
      <main id="main" ref={main} tabIndex={-1}>
        <StaleBanner />
        {caller.hasDemo && caller.roles.includes('operate') ? <Guide path={path} /> : null}
        {/* The charts of a page have times too. */}
        <ErrorBoundary key={`${path} ${times}`} title={title}>
          <Suspense fallback={<PageHead title={title} about=" " />}>
            {found === undefined ? (
              <Missing />
            ) : isAllowed(found.page, caller.roles) ? (
              found.page.show(found.match[1] ?? '')
            ) : (
              <NotAllowed page={found.page} caller={caller} />
            )}
          </Suspense>
        </ErrorBoundary>
      </main>
      {opened === 'palette' ? <Palette caller={caller} onClose={close} /> : null}
      <Suspense fallback={null}>{opened === 'help' ? <KeyHelp onClose={close} /> : null}</Suspense>
      <Toasts />
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
