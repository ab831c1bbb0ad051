import assert from 'node:assert/strict';
import { Holdfast, pipeline, question } from '../../../src/index.ts';
import { refusedWith, type TestCoordinator, until } from '../coordinator.ts';
import type { Case } from './case.ts';

interface Asked {
  readonly signed?: boolean;
  readonly timeoutMs?: number;
  readonly correlation?: string;
}

const asks = pipeline({
  name: 'asks',
  async run(ctx, input: Asked) {
    const { signed, timeoutMs, correlation } = input;
    const answer = await ctx.await('approval', {
      request: { amount: 17 },
      assignee: 'ann',
      ...(correlation === undefined ? {} : { correlation }),
      ...(signed === true ? { signed } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    return answer;
  },
});

const SECRET = 'a secret of thirty-two bytes, or more';
const LINKS = { keys: { one: SECRET }, current: 'one' };

async function asked(
  coordinator: TestCoordinator,
  input: object = {},
): Promise<{ readonly execution: string; readonly id: string }> {
  await coordinator.worker([asks]);
  const client = await coordinator.client(['submit'], 'default');
  const { id: execution } = await client.executions.submit({ pipeline: 'asks', input });
  const id = await until(async () => (await client.awaits.list({ execution })).items[0]?.id);
  return { execution, id };
}

const listed: Case = {
  name: 'questions are listed by assignee, name and execution, with their request',
  async run(coordinator) {
    const { execution, id } = await asked(coordinator);
    const client = await coordinator.client(['submit'], 'default');
    const found = await client.awaits.read(id);
    assert.deepEqual(found.request, { amount: 17 });
    assert.equal(found.assignee, 'ann');
    assert.equal(found.unit?.name, 'approval');
    assert.equal('digest' in found, false);
    for (const filter of [{}, { execution }, { name: 'approval' }, { assignee: 'ann' }]) {
      const { items, cursor } = await client.awaits.list(filter);
      assert.deepEqual([items.map((each) => each.id), cursor], [[id], undefined]);
    }
    for (const filter of [{ name: 'other' }, { assignee: 'bob' }, { open: false }]) {
      assert.deepEqual((await client.awaits.list(filter)).items, []);
    }
    const { cursor } = await client.awaits.list({ limit: 1 });
    assert.equal(cursor, id);
    assert.deepEqual((await client.awaits.list({ limit: 1, cursor: id })).items, []);
  },
};

const due: Case = {
  name: 'questions are listed by due time, and counted',
  async run(coordinator) {
    const never = await asked(coordinator);
    const later = await asked(coordinator, { timeoutMs: 7_200_000 });
    const soon = await asked(coordinator, { timeoutMs: 3_600_000 });
    const client = await coordinator.client(['submit'], 'default');
    const expected = [soon.id, later.id, never.id];
    const ids: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await client.awaits.list({
        ...{ sort: 'due', limit: 1 },
        ...(cursor === undefined ? {} : { cursor }),
      });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    assert.deepEqual(ids, expected);
    const { items } = await client.awaits.list({ sort: 'due', assignee: 'ann', name: 'approval' });
    assert.deepEqual(
      items.map(({ id }) => id),
      expected,
    );
    assert.deepEqual(await client.awaits.count(), { count: 3, capped: false });
    assert.deepEqual(await client.awaits.count({ assignee: 'bob' }), { count: 0, capped: false });
    const wrong = [{ open: false }, { execution: soon.execution }, { cursor: soon.id }];
    for (const filter of wrong) {
      const refused = client.awaits.list({ sort: 'due', ...filter });
      await assert.rejects(refused, refusedWith('invalid-input', 400), JSON.stringify(filter));
    }
  },
};

const queued: Case = {
  name: 'a question without a slot is listed as queued, until the one before it is answered',
  async run(coordinator) {
    const ofBank = { key: 'bank', limit: 1 };
    const limited = pipeline({
      name: 'limited',
      run: (ctx) => ctx.await('approval', { concurrency: ofBank }),
    });
    await coordinator.worker([limited]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    for (let nth = 0; nth < 2; nth += 1) await client.executions.submit({ pipeline: 'limited' });
    const waiting = await until(async () => (await client.awaits.list({ queued: true })).items[0]);
    assert.deepEqual([waiting.status, waiting.unit?.concurrency], ['queued', ofBank]);
    const explained = await client.executions.explain(waiting.execution);
    assert.equal(explained.code, 'concurrency-limit');
    assert.match(explained.sentence, /^Question "approval" waits for a slot of .+ "bank"\.$/);
    const [open, ...others] = (await client.awaits.list()).items;
    assert.deepEqual([open?.status, others], ['open', []]);
    await client.awaits.answer(open?.id ?? '', true);
    const [next] = (await client.awaits.list()).items;
    assert.deepEqual([next?.id, next?.status], [waiting.id, 'open']);
    assert.deepEqual((await client.awaits.list({ queued: true })).items, []);
  },
};

const answered: Case = {
  name: 'an answer is accepted once; another one is refused with the winner',
  async run(coordinator) {
    const { execution, id } = await asked(coordinator);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const submitter = await coordinator.client(['submit'], 'default');
    const place = { execution, name: 'approval' };
    for (const target of [id, place]) {
      const mine = submitter.awaits.answer(target, { ok: true });
      await assert.rejects(mine, refusedWith('role-missing', 403), 'submit alone does not answer');
    }
    const operator = await coordinator.client(['operate'], 'default');
    const own = operator.executions.submit({ pipeline: 'asks', input: {} });
    await assert.rejects(own, refusedWith('role-missing', 403), 'a key that answers cannot submit');
    assert.deepEqual(await client.awaits.answer(id, { ok: true }), {
      kind: 'answered',
      settled: true,
    });
    assert.equal((await client.awaits.answer(id, { ok: true })).kind, 'existing');
    await assert.rejects(client.awaits.answer(id, 'no'), refusedWith('answer-conflict', 409));
    const { status, output } = await client.executions.result(execution);
    assert.equal(status, 'completed');
    assert.deepEqual((output as { value: unknown }).value, { ok: true });
    const { answer } = await client.awaits.read(id);
    assert.deepEqual(answer?.value, { ok: true });
    assert.match(answer?.actor ?? '', /^submit\+operate of default \([a-z2-7]{16}\)$/);
  },
};

const correlated: Case = {
  name: 'W-14: a question is read, changed and answered by its correlation, in its own project',
  given: { links: LINKS },
  async run(coordinator) {
    const correlation = 'pay/17: ä';
    const { execution, id } = await asked(coordinator, { correlation });
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const other = await coordinator.client(['submit', 'operate'], 'other');
    const ref = `correlation:${correlation}`;
    await assert.rejects(other.awaits.read(ref), refusedWith('not-found', 404));
    await assert.rejects(other.awaits.answer(ref, true), refusedWith('await-unknown', 404));
    const unknown = client.awaits.answer('correlation:none', true);
    await assert.rejects(unknown, refusedWith('await-unknown', 404));
    await client.awaits.assign(ref, 'olga');
    await client.awaits.extend(ref, 60_000);
    assert.match((await client.awaits.link(ref, 60_000)).token, /./);
    const read = await client.awaits.read(ref);
    assert.deepEqual([read.id, read.correlation, read.assignee], [id, correlation, 'olga']);
    assert.equal((await client.awaits.answer(ref, true)).kind, 'answered');
    assert.equal((await client.awaits.answer(ref, true)).kind, 'existing');
    await assert.rejects(client.awaits.answer(ref, false), refusedWith('answer-conflict', 409));
    await client.executions.result(execution);
    assert.equal((await client.awaits.answer(ref, true)).kind, 'existing');
  },
};

const together: Case = {
  name: 'W-16: several questions get one answer, and each has its result',
  async run(coordinator) {
    const teams = pipeline({
      name: 'teams',
      async run(ctx) {
        const all = await ctx.await('sign-off', { items: ['a', 'b', 'c'], need: 2 });
        return all.answers.length;
      },
    });
    const { id } = await asked(coordinator, { correlation: 'one' });
    await coordinator.worker([teams]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const { id: execution } = await client.executions.submit({ pipeline: 'teams' });
    const open = await until(async () => {
      const { items } = await client.awaits.list({ execution, name: 'sign-off' });
      return items.length === 3 ? items : undefined;
    });
    const ids = [...open.map((each) => each.id), 'correlation:one', 'correlation:none'];
    const other = await coordinator.client(['operate'], 'other');
    const foreign = await other.awaits.answerAll(ids, true);
    assert.deepEqual(new Set(foreign.items.map(({ code }) => code)), new Set(['await-unknown']));
    const sent = await client.awaits.answerAll(ids, true);
    const kinds = sent.items.map(({ kind, code }) => code ?? kind);
    assert.deepEqual(kinds.slice(3), ['answered', 'await-unknown']);
    assert.deepEqual(kinds.slice(0, 3).toSorted(), ['answer-late', 'answered', 'answered']);
    assert.equal((await client.executions.result(execution)).output, 2);
    assert.equal((await client.awaits.read(id)).status, 'answered');
    const again = await client.awaits.answerAll(['correlation:one'], true);
    assert.deepEqual(again.items, [{ kind: 'existing', settled: false }]);
    await assert.rejects(client.awaits.answerAll([], true), refusedWith('invalid-input', 400));
    const submitter = await coordinator.client(['submit'], 'default');
    await assert.rejects(submitter.awaits.answerAll(ids, 1), refusedWith('role-missing', 403));
  },
};

const early: Case = {
  name: 'an answer can come before its question',
  async run(coordinator) {
    const withQuestions = pipeline({
      name: 'later',
      awaits: [question({ name: 'other' })],
      run: (ctx) => ctx.await('approval'),
    });
    await coordinator.worker([withQuestions]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const body = { pipeline: 'later', delayMs: 1_000 };
    const { id: execution } = await client.executions.submit(body);
    const target = { execution, name: 'approval' };
    const other = await coordinator.client(['submit', 'operate'], 'other');
    await assert.rejects(other.awaits.answer(target, 1), refusedWith('await-unknown', 404));
    assert.equal((await client.awaits.answer(target, 1)).kind, 'kept');
    const { output } = await client.executions.result(execution);
    assert.equal((output as { value: unknown }).value, 1);
  },
};

const lookedAfter: Case = {
  name: 'an await gets another timeout and another assignee, and is cancelled',
  async run(coordinator) {
    const { execution, id } = await asked(coordinator, { timeoutMs: 3_600_000 });
    const operator = await coordinator.client(['operate'], 'default');
    const before = (await operator.awaits.read(id)).unit?.dueAt ?? '';
    await operator.awaits.extend(id, 7_200_000);
    const after = (await operator.awaits.read(id)).unit?.dueAt ?? '';
    assert.ok(Date.parse(after) > Date.parse(before));
    await operator.awaits.extend(id, null);
    assert.equal((await operator.awaits.read(id)).unit?.dueAt, undefined);
    await operator.awaits.assign(id, 'bob');
    assert.equal((await operator.awaits.read(id)).assignee, 'bob');
    await operator.awaits.assign(id, null);
    assert.equal((await operator.awaits.read(id)).assignee, undefined);
    await operator.awaits.cancel(id);
    assert.equal((await operator.executions.result(execution)).status, 'completed');
    await assert.rejects(operator.awaits.cancel(id), refusedWith('await-settled', 409));
    await assert.rejects(operator.awaits.answer(id, 1), refusedWith('answer-late', 409));
  },
};

const linked: Case = {
  name: 'a link shows its question and answers it, without a key',
  given: { links: LINKS },
  async run(coordinator) {
    const { execution, id } = await asked(coordinator, { signed: true });
    const operator = await coordinator.client(['operate'], 'default');
    await assert.rejects(operator.awaits.answer(id, 'yes'), refusedWith('link-required', 403));
    const { path, token } = await operator.awaits.link(id, 60_000);
    const url = `${coordinator.url}${path}`;
    const shown = await fetch(url);
    assert.equal(shown.headers.get('cache-control'), 'no-store');
    assert.deepEqual(await shown.json(), {
      status: 'open',
      name: 'approval',
      request: { amount: 17 },
    });
    const post = (at: string, value: unknown): Promise<Response> =>
      fetch(at, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ value }),
      });
    const forged = url.replace(
      token,
      token.replace(/.(?=.{9}$)/, (at) => (at === 'A' ? 'B' : 'A')),
    );
    for (const wrong of [forged, `${coordinator.url}/v1/answers/nothing`]) {
      assert.equal((await post(wrong, 'yes')).status, 403);
      assert.equal((await fetch(wrong)).status, 403);
    }
    assert.equal((await post(url, 'yes')).status, 200);
    assert.deepEqual(await (await post(url, 'yes')).json(), { kind: 'existing', settled: false });
    assert.equal((await post(url, 'no')).status, 409);
    const { output } = await operator.executions.result(execution);
    assert.equal((output as { value: unknown }).value, 'yes');
  },
};

const expiredLinks: Case = {
  name: 'an expired link, or one without signing keys, answers nothing',
  async run(coordinator) {
    const { id } = await asked(coordinator);
    const operator = await coordinator.client(['operate'], 'default');
    await assert.rejects(operator.awaits.link(id, 60_000), refusedWith('links-off', 404));
    const holdfast = new Holdfast({ store: coordinator.store, links: LINKS });
    const token = holdfast.awaits.link(id, { expiresInMs: 60_000 });
    const response = await fetch(`${coordinator.url}/v1/answers/${token}`);
    assert.equal(((await response.json()) as { code: string }).code, 'links-off');
    await holdfast.close();
  },
};

export const awaitCases: readonly Case[] = [
  listed,
  due,
  queued,
  answered,
  correlated,
  together,
  early,
  lookedAfter,
  linked,
  expiredLinks,
];
