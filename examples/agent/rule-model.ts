// A model without a service: rules for one task. It decides only by the messages, as a real one does.

import type { Data, Model, Reply } from './agent.ts';

interface Order {
  readonly id: number;
  readonly cents: number;
  readonly late: boolean;
}

/** Refunds late orders. It looks the order up first, and tells the customer what happened. */
export const ruleModel: Model = async (messages) => {
  const [, id] = /order (\d+)/i.exec(messages[0]?.content ?? '') ?? [];
  if (id === undefined) return { kind: 'answer', text: 'Please name your order.' };
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const [found, refunded] = results;
  if (found === undefined) return use('find_order', { id: Number(id) });
  const order = JSON.parse(found) as Order;
  if (!order.late) return { kind: 'answer', text: `Order ${id} arrived in time. No refund.` };
  if (refunded === undefined) return use('refund', { id: order.id, cents: order.cents });
  const isRefused = /^A person refused/.test(refunded);
  const text = isRefused
    ? `We cannot refund order ${id}.`
    : `We refunded ${order.cents / 100} euros.`;
  return { kind: 'answer', text };
};

function use(tool: string, input: Data): Reply {
  return { kind: 'tool', tool, input };
}
