// The client's methods for channels.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { ChannelAnswerBody, ChannelBody, DeliveryMessage } from './messages.ts';

/** Operations of `client.channels`. */
export function channelsClient(client: Calls) {
  return {
    /** Creates a channel, or replaces its content. The same again is safe. */
    put: (id: string, body: ChannelBody) =>
      callOperation(client, 'PUT /v1/channels/:id', { ...body, id }),
    /** Returns a channel. */
    read: (id: string) => callOperation(client, 'GET /v1/channels/:id', { id }),
    /** Returns a page of channels by id. */
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/channels', page),
    /** Deletes a channel. Messages that wait are never sent. */
    remove: (id: string) => callOperation(client, 'DELETE /v1/channels/:id', { id }),
    /** Returns the secret that verifies signatures. */
    secret: (id: string) => callOperation(client, 'GET /v1/channels/:id/secret', { id }),
    /** Creates another secret. Both are valid for `overlapMs` milliseconds (default one day). */
    rotate: (id: string, body: { readonly overlapMs?: number } = {}) =>
      callOperation(client, 'POST /v1/channels/:id/rotate', { ...body, id }),
    /** Sends a test message, and returns its id. */
    test: (id: string) => callOperation(client, 'POST /v1/channels/:id/test', { id }),
    /** Answers a question with a signed message. Needs no access key. */
    answer: (at: { readonly project: string; readonly channel: string }, body: ChannelAnswerBody) =>
      callOperation(client, 'POST /v1/channel-answers/:project/:channel', { ...body, ...at }),
    /** Returns a page of messages with their attempts, newest first. */
    deliveries: (
      id: string,
      query: PageQuery & { readonly state?: DeliveryMessage['state'] } = {},
    ) => callOperation(client, 'GET /v1/channels/:id/deliveries', { ...query, id }),
    /** Sends one message again, or the failed ones. Call it until `count` is 0. */
    replay: (id: string, body: { readonly message?: string } = {}) =>
      callOperation(client, 'POST /v1/channels/:id/replay', { ...body, id }),
  };
}
