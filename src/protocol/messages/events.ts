// Live streams.

import { Type } from 'typebox';
import { CLOSED, count } from './words.ts';

export const streamQuery = Type.Object(
  {
    after: Type.Optional(count),
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
