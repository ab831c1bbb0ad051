// A Hono app whose routes submit orders, and whose process is their worker: the coordinator calls it. Nothing
// runs while there is nothing to do, so the same app works in a serverless function.

import { type Pipeline, pipeline } from 'holdfast';
import { HoldfastClient } from 'holdfast/client';
import { pushHandler } from 'holdfast/worker/push';
import { Hono } from 'hono';

export interface Order {
  readonly item: string;
}

export interface AppOptions {
  /** The URL of this app, as the coordinator calls it. */
  readonly url: string;
  readonly coordinator: { readonly url: string; readonly key: string };
  /** The secret that the coordinator signs its calls with. */
  readonly secret: string;
  readonly effects: (what: string) => void;
}

export function orderPipeline(effects: AppOptions['effects']): Pipeline<Order, string> {
  return pipeline<Order, string>({
    name: 'order',
    async run(ctx, { item }) {
      await ctx.step('charge', () => effects(`charge ${item}`));
      await ctx.sleep(200);
      await ctx.step('ship', () => effects(`ship ${item}`));
      return `shipped ${item}`;
    },
  });
}

export function shopApp({ url, coordinator, secret, effects }: AppOptions): Hono {
  const client = new HoldfastClient(coordinator);
  const handler = pushHandler({
    pipelines: [orderPipeline(effects)],
    signing: { keys: { k1: secret }, current: 'k1' },
    audience: `${url}/holdfast`,
    coordinator,
  });
  const app = new Hono();
  app.post('/holdfast', (c) => handler(c.req.raw));
  app.post('/orders', async (c) => {
    const { id: order, item } = await c.req.json<Order & { readonly id: string }>();
    const { id } = await client.executions.submit({
      ...{ pipeline: 'order', input: { item } },
      // A customer who clicks twice gets one order.
      key: `order/${order}`,
    });
    return c.json({ id }, 202);
  });
  app.get('/orders/:id', async (c) => {
    const { status, output } = await client.executions.result(c.req.param('id'));
    return c.json({ status, output: output ?? null });
  });
  return app;
}
