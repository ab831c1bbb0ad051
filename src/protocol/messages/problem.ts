// Problems: the bodies of refusals and faults (RFC 9457). `code` is stable and meant for programs.

import { type Static, Type } from 'typebox';

export const problem = Type.Object(
  {
    type: Type.String({
      description: 'URI of the kind of problem: `urn:holdfast:problem:<code>`.',
    }),
    title: Type.String({ description: 'Short text for the code.' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    code: Type.String({
      description:
        'Stable code, for programs. `docs/reference/errors.md` lists all of them with their fix.',
    }),
    detail: Type.String({ description: 'Cause, effect on state, and what to do, for people.' }),
    refusal: Type.Optional(
      Type.Unknown({
        description:
          'Facts of a refusal, for programs. Its `why` equals `code`; other fields depend on it.',
      }),
    ),
  },
  { title: 'Problem', description: 'Why the request was not done (RFC 9457).' },
);

export type ProblemMessage = Static<typeof problem>;
