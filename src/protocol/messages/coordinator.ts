// The caller's identity and rights, for a console that shows only what the caller can do.

import { type Static, Type } from 'typebox';
import { ROLES } from '../../features/access/model.ts';
import type { Operations } from './operation.ts';
import { closed, executionId, instant } from './words.ts';

export const caller = closed({
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
  store: closed({ kind: Type.String(), survives: Type.String() }),
  hasDemo: Type.Boolean({ description: 'It is `holdfast dev`.' }),
  hasLinks: Type.Boolean({ description: 'Answer links can be made here.' }),
  hasArchive: Type.Boolean({ description: 'What has ended can be archived from here.' }),
  hasAdmin: Type.Boolean({ description: 'The routes of `admin` are at this address.' }),
});

export type CallerMessage = Static<typeof caller>;

// The demo of `holdfast dev`, for its console.

const SCENES = ['ask', 'freeze', 'fail-payment'] as const;

export type Scene = (typeof SCENES)[number];

export const demo = closed({
  workers: Type.Array(
    closed({ name: Type.String(), pid: Type.Integer(), isFrozen: Type.Boolean() }),
  ),
  isPlaying: Type.Boolean(),
  story: Type.Array(
    closed({ at: instant, text: Type.String(), execution: Type.Optional(executionId) }),
    { description: 'What happened so far, the newest last.' },
  ),
});

export type DemoMessage = Static<typeof demo>;

const ok = closed({ status: Type.Literal('ok') });
const NONE = { 404: { what: 'There is no demo here.' } } as const;

/** Excludes keys of workers, which belong to programs. */
const PEOPLE = ['submit', 'operate', 'admin'] as const;

export const coordinatorOperations = {
  readCaller: {
    at: 'GET /v1/caller',
    summary: 'Who is calling, for which project, and what that allows.',
    allows: PEOPLE,
    answers: { 200: { what: 'As the key says.', schema: caller } },
  },
  signIn: {
    at: 'POST /v1/sign-in',
    summary: 'Puts the key of this request into a cookie, for browsers.',
    allows: PEOPLE,
    answers: { 204: { what: 'The cookie opens what the key opens, until the browser is closed.' } },
  },
  signOut: {
    at: 'POST /v1/sign-out',
    summary: 'Takes the cookie away. The key stays what it was.',
    // Public, because the holder of a revoked key could otherwise not remove its cookie.
    allows: 'public',
    answers: { 204: { what: 'It is gone.' }, 403: { what: 'A page of somebody else asks.' } },
  },
  readDemo: {
    at: 'GET /v1/demo',
    summary: 'The workers of the demo, and what happened to them.',
    allows: ['operate'],
    answers: { 200: { what: 'As it is now.', schema: demo }, ...NONE },
  },
  playDemo: {
    at: 'POST /v1/demo/:scene',
    summary:
      'Plays a scene: an order asks for approval, a worker is frozen in its work, or a payment fails.',
    allows: ['operate'],
    params: closed({ scene: Type.Enum([...SCENES]) }),
    answers: {
      202: { what: 'It is under way.', schema: demo },
      ...NONE,
      409: { what: 'A scene is being played.' },
    },
  },
  checkHealth: {
    at: 'GET /healthz',
    summary: 'The process answers.',
    allows: 'public',
    answers: { 200: { what: 'It does.', schema: ok } },
  },
  checkReadiness: {
    at: 'GET /readyz',
    summary:
      'The store answers within a second and is not sealed, and the coordinator is not stopping.',
    allows: 'public',
    answers: { 200: { what: 'Send requests.', schema: ok }, 503: { what: 'Send them elsewhere.' } },
  },
  readMetrics: {
    at: 'GET /metrics',
    summary:
      'What is counted here, as Prometheus reads it: for a key of one project only what is of that project.',
    allows: ['operate'],
    answers: { 200: { what: 'Text.' }, 404: { what: 'prom-client is not installed.' } },
  },
} as const satisfies Operations;
