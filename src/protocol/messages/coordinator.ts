// Operations of the coordinator itself: who is calling, sign-in, health, metrics, demo.

import { type Static, Type } from 'typebox';
import { ROLES } from '../../features/access/model.ts';
import { wordsIn } from '../../support/options.ts';
import { operationsOf } from './operation.ts';
import {
  choice,
  closed,
  documented,
  executionId,
  flag,
  instant,
  integer,
  listOf,
  optional,
  text,
  titled,
} from './words.ts';

export const caller = closed(
  {
    name: text('Name of the key, as history and audit show it.'),
    project: text('Project of this request.'),
    isOfAll: flag('True if the key opens all projects.'),
    projects: optional(
      listOf(Type.String(), 'For a key for all projects: the first 100 projects, by name.'),
    ),
    roles: listOf(Type.Enum([...ROLES]), 'Roles of the key.'),
    auth: choice(['keys', 'off'], '`off`: this coordinator requires no keys.'),
    store: closed(
      {
        kind: text('Kind of the store, such as `sqlite`.'),
        survives: text('Failures that an acknowledged write survives.'),
      },
      { description: 'The store of the coordinator.' },
    ),
    command: text('Words that start the command line where the coordinator is installed.'),
    hasDemo: flag('True if this is `holdfast dev` with its demo.'),
    hasLinks: flag('True if it can sign answer links.'),
    hasArchive: flag('True if it has an archive.'),
    hasAdmin: flag('True if this listener serves the admin routes.'),
  },
  titled('Caller', {
    name: 'ann',
    project: 'default',
    isOfAll: false,
    roles: ['submit', 'operate'],
    auth: 'keys',
    store: { kind: 'sqlite', survives: 'process' },
    command: 'npx holdfast',
    hasDemo: false,
    hasLinks: true,
    hasArchive: false,
    hasAdmin: false,
  }),
);

export type CallerMessage = Static<typeof caller>;

// The demo of `holdfast dev`, as its console shows it.

const SCENES = ['ask', 'freeze', 'fail-payment'] as const;

export type Scene = (typeof SCENES)[number];

/** What happens in the scenes, in their order. */
const DEMO_EVENTS = wordsIn(
  'asked answered stew-ordered frozen taken-over thawed refused not-refused cake-ordered compensating quarantined refunded',
);

export type DemoEvent = (typeof DEMO_EVENTS)[number];

export const demo = closed(
  {
    workers: listOf(
      closed({
        name: text('Name of the worker.'),
        pid: integer('Its process id.'),
        isFrozen: flag('True while the demo has stopped the process.'),
      }),
      'Worker processes of the demo.',
    ),
    isPlaying: flag('True while a scene runs.'),
    story: listOf(
      closed({
        at: documented(instant, 'When it happened.'),
        event: choice([...DEMO_EVENTS], 'The event, for programs.'),
        text: text('The event, for people.'),
        execution: optional(executionId, 'Execution that it is about.'),
      }),
      'Events so far, the newest last.',
    ),
  },
  titled('Demo', {
    workers: [{ name: 'worker-1', pid: 4711, isFrozen: true }],
    isPlaying: true,
    story: [
      {
        at: '2026-11-17T09:30:00.000Z',
        event: 'frozen',
        text: 'worker-1 is frozen in the middle of its work.',
        execution: '01890a5d-ac96-774b-bcce-b302099a8057',
      },
    ],
  }),
);

export type DemoMessage = Static<typeof demo>;

const ok = closed({ status: Type.Literal('ok', { description: 'Always `ok`.' }) });
const NONE = {
  404: { what: 'This coordinator has no demo; `holdfast dev` has one.', codes: ['demo-off'] },
} as const;

/** Not `work`: programs use such a key, people do not. */
const PEOPLE = ['submit', 'operate', 'admin'] as const;

export const coordinatorOperations = operationsOf('Coordinator', {
  readCaller: {
    at: 'GET /v1/caller',
    summary: 'Read who is calling',
    description:
      'Returns name, project and roles of the key, and what this coordinator supports. Consoles use it to decide what to show.',
    allows: PEOPLE,
    responses: { 200: { what: 'The caller.', schema: caller } },
  },
  signIn: {
    at: 'POST /v1/sign-in',
    summary: 'Sign a browser in',
    description:
      'Sets a cookie with the key of this request, which scripts cannot read. Writes nothing to the store. The browser keeps the cookie until it is closed. Repeating it is safe.',
    allows: PEOPLE,
    responses: { 204: { what: 'The response sets the cookie.' } },
  },
  signOut: {
    at: 'POST /v1/sign-out',
    summary: 'Sign a browser out',
    description:
      'Removes the cookie. The key itself stays valid. Writes nothing to the store. Repeating it is safe.',
    // Public, so that a browser can drop the cookie of a key that was revoked.
    allows: 'public',
    responses: {
      204: { what: 'The response removes the cookie.' },
      403: { what: 'A page of another origin sent the request.', codes: ['foreign-page'] },
    },
  },
  readDemo: {
    at: 'GET /v1/demo',
    tag: 'Demo',
    summary: 'Read the state of the demo',
    description: 'Returns the worker processes of `holdfast dev` and what happened to them.',
    allows: ['operate'],
    responses: { 200: { what: 'The demo.', schema: demo }, ...NONE },
  },
  playDemo: {
    at: 'POST /v1/demo/:scene',
    tag: 'Demo',
    summary: 'Play a scene of the demo',
    description:
      'Submits an order and, by scene, lets it ask for an approval, freezes its worker, or fails its payment. One scene plays at a time. Each request plays the scene again.',
    allows: ['operate'],
    params: closed({ scene: choice([...SCENES], 'Scene to play.') }),
    responses: {
      202: { what: 'The scene has started.', schema: demo },
      ...NONE,
      409: { what: 'Another scene is playing. Nothing was done.', codes: ['demo-busy'] },
    },
  },
  checkHealth: {
    at: 'GET /healthz',
    summary: 'Check that the process is alive',
    description: 'Returns status 200 while the process responds. It does not ask the store.',
    allows: 'public',
    responses: { 200: { what: 'The process is alive.', schema: ok } },
  },
  checkReadiness: {
    at: 'GET /readyz',
    summary: 'Check that the coordinator is ready',
    description:
      'Returns status 200 if the store responds within 1 s and is not sealed, and the coordinator is not shutting down.',
    allows: 'public',
    responses: {
      200: { what: 'The coordinator is ready for requests.', schema: ok },
      503: {
        what: 'The coordinator is not ready. Send requests to another one.',
        codes: ['not-ready', 'store-sealed'],
      },
    },
  },
  readMetrics: {
    at: 'GET /metrics',
    summary: 'Read metrics for Prometheus',
    description:
      'Returns the metrics of this process in the text format of Prometheus. A key for one project gets the metrics of that project only. With the setting `publicMetrics`, no key is required.',
    allows: ['operate'],
    responses: {
      200: {
        what: 'The metrics.',
        text: {
          type: 'text/plain',
          example:
            '# TYPE holdfast_lease_grants_total counter\nholdfast_lease_grants_total{predecessor="none"} 17\n',
        },
      },
      404: {
        what: 'The package `prom-client` is not installed beside `holdfast`.',
        codes: ['metrics-off'],
      },
    },
  },
});
