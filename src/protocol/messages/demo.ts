// What `holdfast dev` plays, as its console shows it.

import { type Static, Type } from 'typebox';
import { CLOSED, executionId, instant } from './words.ts';

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
