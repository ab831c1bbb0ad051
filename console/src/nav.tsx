// The navigation: pages, connection, signed-in key, project and theme.

import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { blockedIn, type Count, sumOf } from '../../src/features/overview/model.ts';
import type { CallerMessage } from '../../src/protocol/messages/coordinator.ts';
import { requestTo } from '../../src/protocol/messages/request.ts';
import { chooseProject, chosenProject } from './api/call.ts';
import { useOverview } from './api/overview.ts';
import { useMay, useOperation, useRead } from './api/reads.ts';
import type { Times } from './model/time-text.ts';
import { countText } from './model/words.ts';
import { isAllowed, type PageSpec, READERS } from './page-spec.ts';
import { PAGES } from './pages.tsx';
import { Icon } from './parts/icon.tsx';
import { Link } from './router.tsx';
import { chooseTheme, chosenTheme, type Theme } from './theme.ts';
import { chooseTimes, OWN_ZONE, useTimes } from './times.ts';

const GROUPS = [
  ['work', 'Work'],
  ['repair', 'Repair'],
  ['operate', 'Operate'],
  ['settings', 'Settings'],
] as const;

export function Nav({
  path,
  caller,
}: {
  readonly path: string;
  readonly caller: CallerMessage;
}): ReactNode {
  const pages = PAGES.filter((page) => isAllowed(page, caller.roles));
  const counts = useCounts(caller);
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState(path);
  // Narrow windows show the pages only on demand, and a chosen page closes them.
  if (shown !== path) {
    setShown(path);
    setOpen(false);
  }
  return (
    <nav className={isOpen ? 'nav nav-open' : 'nav'} aria-label="Pages">
      <div className="nav-top">
        <Link to="/" className="brand">
          <Mark /> holdfast
        </Link>
        <button
          type="button"
          className="nav-menu"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" /> Menu
        </button>
      </div>
      <div className="nav-pages">
        {GROUPS.map(([group, heading]) => (
          <NavGroup
            key={group}
            heading={heading}
            pages={pages.filter((page) => page.group === group)}
            path={path}
            counts={counts}
          />
        ))}
      </div>
      <div className="nav-foot">
        <Who caller={caller} />
        <ThemeChoice />
        <TimesChoice />
      </div>
    </nav>
  );
}

interface NavGroupProps {
  readonly heading: string;
  readonly pages: readonly PageSpec[];
  readonly path: string;
  readonly counts: Counts;
}

interface NavCount {
  readonly text: string;
  readonly severity: 'bad' | 'warn' | 'plain';
  readonly about: string;
}

type Counts = Readonly<Record<string, NavCount | undefined>>;

/** The number of items on a page that wait for a person, by the path of the page. */
function useCounts({ roles }: CallerMessage): Counts {
  const isReader = READERS.some((role) => roles.includes(role));
  const { data } = useOverview(isReader);
  if (data === undefined) return {};
  const { questions, deadLetters, workers } = data;
  const text = ({ count, capped }: Count): string => `${countText(count)}${capped ? '+' : ''}`;
  const stuck = sumOf([deadLetters.quarantined, blockedIn(data)]);
  const isWell = workers.stuck + workers.lapsed + workers.refused === 0;
  return {
    '/inbox':
      questions.open.count === 0
        ? undefined
        : { ...{ text: text(questions.open), severity: 'warn', about: 'open requests' } },
    '/dead-letters':
      deadLetters.count === 0
        ? undefined
        : { text: text(deadLetters), severity: 'bad', about: 'open dead letters' },
    '/quarantine':
      stuck.count === 0
        ? undefined
        : { text: text(stuck), severity: 'bad', about: 'quarantined and blocked executions' },
    '/workers': {
      ...{ text: countText(workers.ready), severity: isWell ? 'plain' : 'bad' },
      about: 'workers ready',
    },
  };
}

function NavGroup({ heading, pages, path, counts }: NavGroupProps): ReactNode {
  if (pages.length === 0) return null;
  return (
    <div className="nav-group">
      <p className="nav-heading">{heading}</p>
      <ul aria-label={heading}>
        {pages.map(({ title, icon, nav, load }) =>
          nav === undefined ? null : (
            <li key={nav}>
              <Link
                to={nav}
                aria-current={isAt(path, nav) ? 'page' : undefined}
                // Before the click, so that the page opens without a placeholder.
                onPointerEnter={() => void load().catch(() => undefined)}
              >
                {icon === undefined ? null : <Icon name={icon} />}
                <span className="nav-title">{title}</span>
                <CountBadge count={counts[nav]} />
              </Link>
            </li>
          ),
        )}
      </ul>
    </div>
  );
}

function CountBadge({ count }: { readonly count: NavCount | undefined }): ReactNode {
  if (count === undefined) return null;
  return (
    <span
      className={`nav-count nav-count-${count.severity}`}
      title={`${count.text} ${count.about}`}
    >
      {count.text}
      <span className="hidden"> {count.about}</span>
    </span>
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

function Who({ caller }: { readonly caller: CallerMessage }): ReactNode {
  const operation = useOperation();
  const client = useQueryClient();
  return (
    <div className="who">
      {caller.isOfAll ? (
        <ProjectChoice caller={caller} />
      ) : (
        <p className="who-project">{caller.project}</p>
      )}
      <p className="who-name">{caller.auth === 'off' ? 'Authentication off' : caller.name}</p>
      {caller.auth === 'off' ? null : (
        <button
          type="button"
          className="quiet"
          onClick={() =>
            operation.mutate(requestTo('POST /v1/sign-out'), {
              onSuccess: () => client.resetQueries(),
            })
          }
        >
          Sign out
        </button>
      )}
    </div>
  );
}

function ProjectChoice({ caller }: { readonly caller: CallerMessage }): ReactNode {
  const { project: current, projects = [] } = caller;
  const client = useQueryClient();
  const { admin } = useMay();
  // `/v1/caller` lists only the first projects; admins can list more.
  const { data } = useRead(requestTo('GET /v1/projects', { limit: 1_000 }), { isEnabled: admin });
  const names = new Set([current, ...projects, ...(data?.items.map(({ name }) => name) ?? [])]);
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
        <option value="system">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

/** The choice is the only place that names the time zone. */
function TimesChoice(): ReactNode {
  const times = useTimes();
  return (
    <label className="theme">
      Times
      <select value={times} onChange={({ target }) => chooseTimes(target.value as Times)}>
        <option value="local">{OWN_ZONE}</option>
        {OWN_ZONE === 'UTC' ? null : <option value="utc">UTC</option>}
        <option value="relative">Relative</option>
      </select>
    </label>
  );
}
