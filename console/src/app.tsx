// The frame: who is signed in, where one can go, and the page.

import { type ReactNode, useEffect } from 'react';
import { useLive } from './api/live.ts';
import { useCaller } from './api/reads.ts';
import { Guide } from './guide.tsx';
import { Nav } from './nav.tsx';
import { AnswerPage } from './pages/answer.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { PAGES } from './pages.tsx';
import { Empty, ProblemNote } from './parts/notes.tsx';
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
  if (caller.data === undefined) return <ProblemNote error={caller.error} />;
  return <Frame />;
}

function Frame(): ReactNode {
  const liveness = useLive();
  const { path } = usePlace();
  const found = PAGES.map((page) => ({ page, match: page.path.exec(path) })).find(
    ({ match }) => match !== null,
  );
  const title = found?.page.title ?? 'Not found';
  useEffect(() => {
    document.title = `${title} · Holdfast`;
  }, [title]);
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Nav liveness={liveness} path={path} />
      <main id="main" tabIndex={-1}>
        <Guide />
        {found === undefined ? <Missing /> : found.page.show(found.match?.[1] ?? '')}
      </main>
    </div>
  );
}

function Missing(): ReactNode {
  return (
    <Empty title="There is no such page">
      <p>
        Go to <Link to="/executions">the executions</Link>.
      </p>
    </Empty>
  );
}
