// Who is calling, as a console must know to show what it can do.

import { type Static, Type } from 'typebox';
import { ROLES } from '../../features/access/model.ts';
import { CLOSED } from './words.ts';

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
