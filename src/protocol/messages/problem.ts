// What is answered instead of what was asked for (RFC 9457). `code` is stable and meant for programs.

import { type Static, Type } from 'typebox';

export const problem = Type.Object({
  type: Type.String({ description: 'A URI that names the kind of problem.' }),
  title: Type.String(),
  status: Type.Integer(),
  code: Type.String({ description: 'Stable; for programs.' }),
  detail: Type.String({ description: 'What happened, why, and what to do next; for people.' }),
  /** Of a refusal: what its reader needs to act on it. */
  refusal: Type.Optional(Type.Unknown()),
});

export type Problem = Static<typeof problem>;
