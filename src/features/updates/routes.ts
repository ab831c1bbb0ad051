// Routes for updates and published values.

import { isSealedValue, readable, requireNoOperation } from '../../protocol/rest/executions.ts';
import { executionFor } from '../../protocol/rest/handling.ts';
import { notFound, refusalReply } from '../../protocol/rest/problems.ts';
import { operationFor, type Route, routesOf } from '../../protocol/rest/route.ts';
import { viewOf } from '../../support/value.ts';
import { updateOperations } from './messages.ts';

export const updateRoutes: readonly Route[] = routesOf(updateOperations, {
  async updateExecution(coordinator, { params, body, caller, signal }) {
    const { holdfast, shares } = coordinator;
    await requireNoOperation(coordinator, caller, params.id);
    const { waitMs: timeoutMs = 0, ...message } = body;
    const { id } = await executionFor(coordinator, caller, params.id);
    const given = { ...message, ...operationFor(caller), timeoutMs, signal };
    const result = await holdfast.sendUpdate(id, given);
    if (result.kind === 'refused') throw refusalReply(result);
    if (result.kind === 'pending') return { status: 202, isIdle: true, body: result };
    if (result.kind !== 'replied') return { status: 200, body: result };
    const { kind, key, out } = result;
    const reader = { holdfast, shares, project: caller.project };
    return {
      status: 200,
      body: { kind, key, ...(await readable(reader, { value: out }, isSealedValue)) },
    };
  },

  async queryExecution(coordinator, { params, body, caller }) {
    const { holdfast, shares } = coordinator;
    const { project } = caller;
    const { id } = await executionFor(coordinator, caller, params.id);
    const found = await holdfast.queried(id, { ...body, project });
    if (found.kind === 'value') return { status: 200, body: { value: viewOf(found.value) } };
    const reader = { holdfast, shares, project };
    return { status: 200, body: await readable(reader, { value: found.out }, isSealedValue) };
  },

  async readPublished(coordinator, { params, query, caller, signal }) {
    const { holdfast, shares } = coordinator;
    const { id } = await executionFor(coordinator, caller, params.id);
    const options = { timeoutMs: query.waitMs ?? 0, signal };
    const found = await holdfast.publishedIn(id, params.name, options);
    if (found === undefined) throw notFound(`published value ${JSON.stringify(params.name)}`);
    const reader = { holdfast, shares, project: caller.project };
    return { status: 200, body: await readable(reader, { value: found.out }, isSealedValue) };
  },
});
