// Saved views: filters of console pages that a project shares.

import { type Static, Type } from 'typebox';
import { operationsOf, READERS } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  documented,
  flag,
  instant,
  optional,
  pageOf,
  paging,
  text,
  textWithin,
  titled,
} from '../../protocol/messages/words.ts';

const viewId = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]*$',
  maxLength: 64,
  description: 'Id of the view, which stays when its name changes.',
  examples: ['late-orders'],
});

const page = Type.String({
  pattern: '^[a-z][a-z-]*$',
  maxLength: 32,
  description: 'Page of the console that the view filters, as in its address.',
  examples: ['executions'],
});

const CONTENT = {
  name: textWithin(1, 64, 'Name for people.', 'Late orders'),
  page,
  query: Type.String({
    maxLength: 2_048,
    description:
      'Filters, as the query of an address. Those of `executions` have the names of `GET /v1/executions`.',
    examples: ['status=waiting&pipeline=order'],
  }),
};

const EXAMPLE = { name: 'Late orders', page: 'executions', query: 'status=waiting&pipeline=order' };

const viewBody = closed(CONTENT, titled('SavedViewBody', EXAMPLE));

export type SavedViewBody = Static<typeof viewBody>;

const view = closed(
  {
    id: viewId,
    ...CONTENT,
    savedAt: documented(instant, 'When it was saved last.'),
    savedBy: optional(text('The actor that saved it last.')),
  },
  titled('SavedView', {
    ...{ id: 'late-orders', ...EXAMPLE, savedAt: '2026-11-17T09:30:00.000Z' },
    savedBy: 'ann (a2b3c4d5e6f7a2b3)',
  }),
);

export type SavedViewMessage = Static<typeof view>;

const viewParams = closed({ id: viewId });

export const viewOperations = operationsOf('Saved views', {
  putView: {
    at: 'PUT /v1/views/:id',
    summary: 'Save a view',
    description:
      'Creates the view, or replaces its name, page and filter, and writes an audit record. Repeating the same content writes nothing.',
    allows: ['operate'],
    params: viewParams,
    body: viewBody,
    responses: {
      200: {
        what: 'The view is stored.',
        schema: closed({ changed: flag('False if it had this content already.') }),
      },
    },
  },
  listViews: {
    at: 'GET /v1/views',
    summary: 'List saved views',
    description: "Returns the project's views by id. The response has an `ETag`.",
    allows: READERS,
    query: closed({
      page: optional(page, 'Only views of this page. Default: all.'),
      ...paging(viewId),
    }),
    responses: { 200: { what: 'One page of views.', schema: pageOf(view) } },
  },
  removeView: {
    at: 'DELETE /v1/views/:id',
    summary: 'Delete a view',
    description:
      'Deletes the view for all users of the project, and writes an audit record. Repeating it changes nothing.',
    allows: ['operate'],
    params: viewParams,
    responses: {
      200: {
        what: 'The view does not exist any more.',
        schema: closed({
          kind: choice(['done', 'no-change'], '`no-change`: there was no such view.'),
        }),
      },
    },
  },
});
