// Routes for saved views.

import { withEtag } from '../../protocol/rest/handling.ts';
import { actorOf, ProblemReply, type Route, routesOf } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { cursorPage } from '../../support/page-size.ts';
import { describeAccessRefusal } from '../access/model.ts';
import { stampOutside } from '../audit/api.ts';
import { viewOperations } from './messages.ts';

export const viewRoutes: readonly Route[] = routesOf(viewOperations, {
  async putView({ store }, { params, body, caller }) {
    const actor = actorOf(caller);
    const result = await store.access.putView({
      ...{ ...params, ...body, project: caller.project, savedBy: actor },
      audit: stampOutside('put-view', { actor }),
    });
    if (result.kind === 'refused') {
      throw new ProblemReply(result.why, describeAccessRefusal(result));
    }
    return { status: 200, body: { changed: result.changed } };
  },

  async listViews({ store }, { query, caller, header }) {
    const { cursor: after, limit = 100, page } = query;
    const found = await store.access.views({
      ...{ project: caller.project, limit },
      ...present({ page, after }),
    });
    const { items, cursor } = cursorPage(found, { limit }, ({ id }) => id);
    const shown = items.map((each) => ({ ...each, savedAt: formatInstant(each.savedAt) }));
    return withEtag({ items: shown, ...(cursor && { cursor }) }, header('if-none-match'));
  },

  async removeView({ store }, { params, caller }) {
    const body = await store.access.removeView({
      ...{ ...params, project: caller.project },
      audit: stampOutside('remove-view', { actor: actorOf(caller) }),
    });
    return { status: 200, body };
  },
});
