// Problems: the bodies of refusals and faults (RFC 9457). `code` is stable and meant for programs.

import { type Static, Type } from 'typebox';
import { integer, json, optional, text } from './words.ts';

export const problem = Type.Object(
  {
    type: text('URI of the kind of problem: `urn:holdfast:problem:<code>`.'),
    title: text('Short text for the code.'),
    status: integer('HTTP status.'),
    code: text(
      'Stable code, for programs. `docs/reference/errors.md` lists all of them with their fix.',
    ),
    detail: text('Cause, effect on state, and what to do, for people.'),
    refusal: optional(
      json('Facts of a refusal, for programs. Its `why` equals `code`; other fields depend on it.'),
    ),
  },
  { title: 'Problem', description: 'Why the request was not done (RFC 9457).' },
);

export type ProblemMessage = Static<typeof problem>;
