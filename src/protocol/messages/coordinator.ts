// Who is calling, as a console must know to show what it can do.

import { type Static, Type } from 'typebox';
import { ROLES } from '../../features/access/model.ts';
import { CLOSED, executionId, instant, seq } from './words.ts';

export const caller = Type.Object(
  {
    name: Type.String({ description: 'As history and audit name it.' }),
    project: Type.String(),
    isOfAll: Type.Boolean({ description: 'The key opens all projects.' }),
    projects: Type.Optional(
      Type.Array(Type.String(), {
        description: 'For a key of all projects: the first of them, by name.',
      }),
    ),
    roles: Type.Array(Type.Enum([...ROLES])),
    auth: Type.Enum(['keys', 'off']),
    store: Type.Object({ kind: Type.String(), survives: Type.String() }, CLOSED),
    hasDemo: Type.Boolean({ description: 'It is `holdfast dev`.' }),
    hasLinks: Type.Boolean({ description: 'Answer links can be made here.' }),
    hasArchive: Type.Boolean({ description: 'What has ended can be archived from here.' }),
    hasAdmin: Type.Boolean({ description: 'The routes of `admin` are at this address.' }),
  },
  CLOSED,
);

export type CallerMessage = Static<typeof caller>;

// What `holdfast dev` plays, as its console shows it.

export const SCENES = ['ask', 'freeze', 'fail-payment'] as const;

export type Scene = (typeof SCENES)[number];

export const sceneParams = Type.Object({ scene: Type.Enum([...SCENES]) }, CLOSED);

export const demo = Type.Object(
  {
    workers: Type.Array(
      Type.Object({ name: Type.String(), pid: Type.Integer(), isFrozen: Type.Boolean() }, CLOSED),
    ),
    isPlaying: Type.Boolean(),
    story: Type.Array(
      Type.Object(
        { at: instant, text: Type.String(), execution: Type.Optional(executionId) },
        CLOSED,
      ),
      { description: 'What happened so far, the newest last.' },
    ),
  },
  CLOSED,
);

export type DemoMessage = Static<typeof demo>;

// Live streams.

export const streamQuery = Type.Object(
  {
    after: Type.Optional(seq),
    progress: Type.Optional(
      Type.Boolean({ description: 'With `progress` between the events, when there is some.' }),
    ),
  },
  CLOSED,
);

export const hintQuery = Type.Object(
  { after: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) },
  CLOSED,
);
