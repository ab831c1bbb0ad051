// Live streams.

import { Type } from 'typebox';
import { CLOSED, seq } from './words.ts';

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
