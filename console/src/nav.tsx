// Where one can go, who one is, how it looks.

import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { ProjectMessage } from '../../src/protocol/messages/admin.ts';
import { chooseProject, chosenProject } from './api/call.ts';
import type { Liveness } from './api/live.ts';
import { type Page, useAct, useCaller, useRead } from './api/reads.ts';
import { PAGES } from './pages.tsx';
import { Link } from './router.tsx';
import { chooseTheme, chosenTheme, type Theme } from './theme.ts';

const GROUPS = ['work', 'repair', 'operate'] as const;

export function Nav({
  liveness,
  path,
}: {
  readonly liveness: Liveness;
  readonly path: string;
}): ReactNode {
  return (
    <nav className="nav" aria-label="Pages">
      <Link to="/" className="brand">
        <Mark /> holdfast
      </Link>
      <div className="nav-pages">
        {GROUPS.map((group) => (
          <ul key={group} className="nav-group">
            {PAGES.filter((page) => page.group === group).map(({ title, nav = '/' }) => (
              <li key={nav}>
                <Link to={nav} aria-current={isAt(path, nav) ? 'page' : undefined}>
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        ))}
      </div>
      <div className="nav-foot">
        <p className={`liveness liveness-${liveness}`} role="status">
          {liveness === 'live' ? 'live' : 'connecting …'}
        </p>
        <Who />
        <ThemeChoice />
      </div>
    </nav>
  );
}

function isAt(path: string, nav: string): boolean {
  return nav === '/' ? path === '/' : path === nav || path.startsWith(`${nav}/`);
}

export function Mark(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" className="mark-plate" />
      <path d="M5 11c3-3 6-3 9 0h4c3-3 6-3 9 0" className="mark-rope" />
      <path d="M12 12v9m8-9v9M8 24h16" className="mark-cleat" />
    </svg>
  );
}

function Who(): ReactNode {
  const { data: caller } = useCaller();
  const act = useAct();
  const client = useQueryClient();
  if (caller === undefined) return null;
  return (
    <div className="who">
      {caller.isOfAll && caller.roles.includes('admin') ? (
        <ProjectChoice current={caller.project} />
      ) : (
        <p className="who-project">{caller.project}</p>
      )}
      <p className="who-name">{caller.auth === 'off' ? 'no keys asked for' : caller.name}</p>
      {caller.auth === 'off' ? null : (
        <button
          type="button"
          className="quiet"
          onClick={() =>
            act.mutate({ path: '/v1/sign-out' }, { onSuccess: () => client.resetQueries() })
          }
        >
          Sign out
        </button>
      )}
    </div>
  );
}

function ProjectChoice({ current }: { readonly current: string }): ReactNode {
  const client = useQueryClient();
  const { data } = useRead<Page<ProjectMessage>>('/v1/projects?limit=1000');
  const names = new Set([current, ...(data?.items.map(({ name }) => name) ?? [])]);
  return (
    <label className="who-project">
      Project
      <select
        value={chosenProject() ?? current}
        onChange={(event) => {
          chooseProject(event.target.value);
          void client.resetQueries();
        }}
      >
        {[...names].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function ThemeChoice(): ReactNode {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  return (
    <label className="theme">
      Theme
      <select
        value={theme}
        onChange={(event) => {
          const next = event.target.value as Theme;
          chooseTheme(next);
          setTheme(next);
        }}
      >
        <option value="system">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}
