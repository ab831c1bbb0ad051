// Projects and API keys.

import { type ReactNode, useId, useState } from 'react';
import type {
  CreatedKey,
  KeyMessage,
  ProjectMessage,
} from '../../../src/features/access/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import {
  itemsOf,
  type Pages,
  useCommand,
  useMay,
  useOperation,
  usePages,
  useRead,
} from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { Dialog, DialogActions, OperationButton } from '../parts/dialog.tsx';
import { Copy, Time } from '../parts/marks.tsx';
import { Empty, More, PageHead, ProblemNote, Shown } from '../parts/notes.tsx';
import { type Column, Table } from '../parts/table.tsx';

const ROLES = ['submit', 'work', 'lease', 'operate', 'admin'] as const;
type Roles = readonly (typeof ROLES)[number][];

export function AccessPage(): ReactNode {
  const projects = useRead(requestTo('GET /v1/projects', { limit: 1_000 }));
  const keys = usePages(requestTo('GET /v1/keys', { limit: 100 }));
  const { isOfAll } = useMay();
  const command = useCommand();
  const known = projects.data?.items ?? [];
  const code = projects.error?.code;
  if (code === 'route-unknown') return <NotHere />;
  return (
    <>
      <PageHead
        title="Projects & API keys"
        about="Access control. A key is shown only once, when created."
      >
        {isOfAll ? <CreateProjectForm /> : null}
        <CreateKeyForm projects={known} />
      </PageHead>
      <Shown of={projects}>
        <h2>{plural(known.length, 'project')}</h2>
        {known.length === 0 ? (
          <Empty title="Only the default project">
            <p>
              Create projects to isolate teams: <code>{command} projects put shop</code>
            </p>
          </Empty>
        ) : (
          <Table label="Projects" columns={PROJECTS} items={known} keyOf={({ name }) => name} />
        )}
        <Keys pages={keys} />
      </Shown>
    </>
  );
}

function NotHere(): ReactNode {
  return (
    <>
      <PageHead title="Projects & API keys" />
      <Empty title="Not available on this listener">
        <p>
          Start the coordinator with <code>--admin main</code>, or use the admin listener.
        </p>
      </Empty>
    </>
  );
}

const PROJECTS: readonly Column<ProjectMessage>[] = [
  { title: 'Project', width: 'minmax(10rem, 1fr)', cell: ({ name }) => <strong>{name}</strong> },
  { title: 'Title', width: 'minmax(10rem, 2fr)', cell: ({ title }) => title ?? '' },
  {
    title: 'Created',
    isWide: true,
    width: '9rem',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

const KEYS: readonly Column<KeyMessage>[] = [
  {
    title: 'Key',
    isWide: true,
    width: '9.5rem',
    cell: ({ id }) => <span className="mono">{id}</span>,
  },
  {
    title: 'Name',
    width: 'minmax(6rem, 1.5fr)',
    cell: ({ name }) => <span title={name}>{name}</span>,
  },
  { title: 'Project', width: 'minmax(5rem, 1fr)', cell: ({ project }) => project ?? 'all' },
  {
    title: 'Roles',
    isWide: true,
    width: 'minmax(13rem, 1fr)',
    cell: ({ roles }) => roles.join(', '),
  },
  {
    title: 'Created',
    isWide: true,
    width: '6.5rem',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  {
    title: 'Expires',
    isWide: true,
    width: '6.5rem',
    cell: ({ expiresAt }) => (expiresAt === undefined ? '' : <Time at={expiresAt} />),
  },
  {
    title: 'Actions',
    width: '5rem',
    cell: ({ id, name }) => (
      <OperationButton
        label="Revoke…"
        className="quiet"
        ask={{
          title: `Revoke key ${name}?`,
          sentence: 'The key stops working within 5 seconds.',
          verb: 'Revoke key',
          isDanger: true,
          operation: () => requestTo('POST /v1/keys/:id/revoke', { id }),
        }}
      />
    ),
  },
];

function Keys({ pages }: { readonly pages: Pages<KeyMessage> }): ReactNode {
  const items = itemsOf(pages);
  return (
    <section aria-label="Keys">
      <h2>{plural(items.length, 'key')}</h2>
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={
          <Empty title="No keys">
            <p>
              Authentication is off (<code>--auth off</code>).
            </p>
          </Empty>
        }
      >
        <Table label="Keys" columns={KEYS} items={items} keyOf={({ id }) => id} />
        <More pages={pages} />
      </Shown>
    </section>
  );
}

function CreateProjectForm(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const operation = useOperation();
  const [name, setName] = useState('');
  const id = useId();
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        New project…
      </button>
      {isOpen ? (
        <Dialog title="New project" onClose={() => setOpen(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              operation.mutate(requestTo('PUT /v1/projects/:name', { name: name.trim() }), {
                onSuccess: () => setOpen(false),
              });
            }}
          >
            <label htmlFor={id}>Name</label>
            <input
              id={id}
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <ProblemNote error={operation.error} />
            <div className="dialog-actions">
              <button type="button" className="quiet" onClick={() => setOpen(false)}>
                Cancel
              </button>
              <button type="submit" className="primary">
                Create
              </button>
            </div>
          </form>
        </Dialog>
      ) : null}
    </>
  );
}

function CreateKeyForm({ projects }: { readonly projects: readonly ProjectMessage[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        New key…
      </button>
      {isOpen ? <KeyDialog projects={projects} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function KeyDialog({
  projects,
  onClose,
}: {
  readonly projects: readonly ProjectMessage[];
  readonly onClose: () => void;
}): ReactNode {
  const operation = useOperation<CreatedKey>();
  const { isOfAll } = useMay();
  const [name, setName] = useState('');
  const [project, setProject] = useState(projects[0]?.name ?? '');
  const [roles, setRoles] = useState<Roles>(['submit']);
  const [nameId, projectId] = [useId(), useId()];
  if (operation.data !== undefined)
    return <CreatedDialog created={operation.data} onClose={onClose} />;
  return (
    <Dialog title="New API key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const body = { name, roles, project: project === '' ? null : project };
          operation.mutate(requestTo('POST /v1/keys', body));
        }}
      >
        <label htmlFor={nameId}>Name</label>
        <input
          id={nameId}
          required
          value={name}
          placeholder="Used by (e.g. order worker)"
          onChange={(event) => setName(event.target.value)}
        />
        <label htmlFor={projectId}>Project</label>
        <select id={projectId} value={project} onChange={(event) => setProject(event.target.value)}>
          {projects.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
          {isOfAll ? <option value="">All projects</option> : null}
        </select>
        <RoleChoice roles={roles} onChoose={setRoles} />
        <ProblemNote error={operation.error} />
        <DialogActions
          verb="Create key"
          onClose={onClose}
          isPending={operation.isPending}
          isDisabled={roles.length === 0}
        />
      </form>
    </Dialog>
  );
}

function RoleChoice({
  roles,
  onChoose,
}: {
  readonly roles: Roles;
  readonly onChoose: (roles: Roles) => void;
}): ReactNode {
  return (
    <fieldset className="choice">
      <legend>Roles</legend>
      {ROLES.map((role) => (
        <label key={role} className={roles.includes(role) ? 'chip chip-on' : 'chip'}>
          <input
            type="checkbox"
            checked={roles.includes(role)}
            onChange={() =>
              onChoose(
                roles.includes(role) ? roles.filter((each) => each !== role) : [...roles, role],
              )
            }
          />
          {role}
        </label>
      ))}
    </fieldset>
  );
}

function CreatedDialog({
  created,
  onClose,
}: {
  readonly created: CreatedKey;
  readonly onClose: () => void;
}): ReactNode {
  return (
    <Dialog title="Copy this key now. It will not be shown again." onClose={onClose}>
      <pre className="created-key">{created.key}</pre>
      <div className="dialog-actions">
        <Copy text={created.key} what="key" />
        <button type="button" className="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
