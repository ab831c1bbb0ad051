// The frame: who is signed in, where one can go, and the page.

import { type ReactNode, useEffect, useRef } from 'react';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';
import { useLive } from './api/live.ts';
import { useCaller } from './api/reads.ts';
import { Guide } from './guide.tsx';
import { Nav } from './nav.tsx';
import { isAllowed, type PageSpec, READERS } from './page-spec.ts';
import { AnswerPage } from './pages/answer.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { PAGES } from './pages.tsx';
import { Mishap } from './parts/mishap.tsx';
import { Empty, PageHead, ProblemNote } from './parts/notes.tsx';
import { Link, usePlace } from './router.tsx';

export function App(): ReactNode {
  const { path } = usePlace();
  const link = /^\/answer\/(.+)$/.exec(path)?.[1];
  return link === undefined ? <Console /> : <AnswerPage link={link} />;
}

function Console(): ReactNode {
  const caller = useCaller();
  const code = caller.error?.code;
  if (code === 'key-required') return <SignIn />;
  // A project that was chosen before may be gone, or not be of this key.
  if (code === 'project-denied' || code === 'project-unknown')
    return <SignIn problem={caller.error} />;
  if (caller.data === undefined) return <Arriving error={caller.error} />;
  return <Frame caller={caller.data} />;
}

/** Before it is known who looks; what takes its time is said to be under way. */
function Arriving({ error }: { readonly error: unknown }): ReactNode {
  return (
    <main className="alone">
      {error === null ? (
        <p className="arriving" role="status">
          Asking the coordinator …
        </p>
      ) : (
        <ProblemNote error={error} />
      )}
    </main>
  );
}

function Frame({ caller }: { readonly caller: CallerMessage }): ReactNode {
  const mayRead = READERS.some((role) => caller.roles.includes(role));
  const liveness = useLive(mayRead);
  const { path } = usePlace();
  const found = PAGES.map((page) => ({ page, match: page.path.exec(path) })).find(
    ({ match }) => match !== null,
  );
  const title = found?.page.title ?? 'Not found';
  useEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  // Who cannot see that another page is there is told, and goes on from its top.
  useEffect(() => {
    if (shown.current !== path) main.current?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Nav liveness={mayRead ? liveness : undefined} path={path} caller={caller} />
      <main id="main" ref={main} tabIndex={-1}>
        {caller.roles.includes('operate') ? <Guide /> : null}
        <Mishap key={path} title={title}>
          {found === undefined ? (
            <Missing />
          ) : isAllowed(found.page, caller.roles) ? (
            found.page.show(found.match?.[1] ?? '')
          ) : (
            <NotAllowed page={found.page} caller={caller} />
          )}
        </Mishap>
      </main>
    </div>
  );
}

function Missing(): ReactNode {
  return (
    <>
      <PageHead title="Not found" />
      <Empty title="There is no such page">
        <p>
          Go to <Link to="/executions">the executions</Link>.
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
      <Empty title="Your key does not open this page">
        <p>
          This needs a key with role {page.allows.join(' or ')}; yours has {caller.roles.join(', ')}
          . Sign in with another one, or ask an admin for it.
        </p>
      </Empty>
    </>
  );
}
