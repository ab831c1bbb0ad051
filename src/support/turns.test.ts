import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ByteTurns, FairShares, FairSlots, Turns } from './turns.ts';

/** Operations by name; each ends when the test ends it. */
class Operations {
  readonly began: string[] = [];
  readonly #turns: Turns;
  readonly #ends: Map<string, (fails: boolean) => void> = new Map();

  constructor(width: number, together?: number) {
    this.#turns = new Turns(width, together);
  }

  ask(project: string, name: string): Promise<string> {
    return this.#turns.take(project, async () => {
      this.began.push(name);
      const fails = await new Promise<boolean>((resolve) => this.#ends.set(name, resolve));
      if (fails) throw new Error(`${name} failed`);
      return name;
    });
  }

  async end(name: string, fails = false): Promise<void> {
    this.#ends.get(name)?.(fails);
    await turn();
  }
}

test('operations of a project run one after the other, and another project does not wait for them', async () => {
  const operations = new Operations(1);
  const [first, second] = [
    operations.ask('a', 'a1'),
    operations.ask('a', 'a2'),
    operations.ask('a', 'a3'),
  ];
  const other = operations.ask('b', 'b1');
  assert.deepEqual(operations.began, ['a1', 'b1']);
  await operations.end('b1');
  assert.equal(await other, 'b1');
  const failed = assert.rejects(first, /a1 failed/);
  await operations.end('a1', true);
  await failed;
  assert.deepEqual(operations.began, ['a1', 'b1', 'a2']);
  await operations.end('a2');
  assert.equal(await second, 'a2');
  await operations.end('a3');
  void operations.ask('a', 'a4');
  assert.deepEqual(operations.began, ['a1', 'b1', 'a2', 'a3', 'a4']);
});

test('operations of all projects are bounded together, and the next is of the project with the fewest', async () => {
  const operations = new Operations(2, 3);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2']) {
    void operations.ask(name.charAt(0), name);
  }
  assert.deepEqual(operations.began, ['a1', 'a2', 'b1']);
  for (const name of ['a1', 'a2', 'b1', 'c1']) await operations.end(name);
  assert.deepEqual(operations.began, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'c2']);
  for (const name of ['a3', 'b2', 'c2']) await operations.end(name);
  assert.deepEqual(operations.began.slice(7), ['b3']);
});

test('a project has at most as many operations under way as there are slots, however many it asks for', async () => {
  const operations = new Operations(4);
  const all = Array.from({ length: 1_000 }, (_, nth) => operations.ask('hostile', `h${nth}`));
  void operations.ask('healthy', 'own');
  assert.deepEqual(operations.began, ['h0', 'h1', 'h2', 'h3', 'own']);
  for (const nth of all.keys()) {
    await operations.end(`h${nth}`);
    assert.equal(operations.began.length, Math.min(1_001, nth + 6));
  }
  assert.equal((await Promise.all(all)).length, 1_000);
});

test('a name has a fair part of the slots, which leaves room for one more name', () => {
  const slots = new FairSlots(9);
  const takeAll = (name: string): readonly (() => void)[] => {
    const taken: (() => void)[] = [];
    for (let free = slots.take(name); free !== undefined; free = slots.take(name)) taken.push(free);
    return taken;
  };
  const [one, two, three] = [takeAll('a'), takeAll('b'), takeAll('c')];
  assert.deepEqual([one.length, two.length, three.length], [4, 3, 2]);
  for (const free of [...one, ...two]) free();
  assert.equal(takeAll('c').length, 2, 'a name that is alone has a larger part');
});

/** Three at a time beside another name, five alone. The test drives clock and event loop. */
class Requests {
  readonly began: string[] = [];
  readonly clock = { nowMs: 0, monotonicMs: (): number => this.clock.nowMs };
  readonly #turns: (() => void)[] = [];
  readonly #shares = new FairShares(
    { alone: 5, beside: 3 },
    {
      clock: this.clock,
      timers: {
        soon: (callback) => void this.#turns.push(callback),
        after: (_, callback) => {
          this.#turns.push(callback);
          return () => undefined;
        },
      },
    },
  );

  async begin(project: string, names: readonly string[], weight = 1): Promise<void> {
    for (const name of names) {
      void this.#shares.begin(project, weight).then(() => this.began.push(name));
    }
    await turn();
  }

  charge(project: string, weight: number): void {
    this.#shares.charge(project, weight);
  }

  /** The requests that begin in the next turn of the event loop. */
  async nextTurn(): Promise<readonly string[]> {
    const before = this.began.length;
    for (const callback of this.#turns.splice(0)) callback();
    await turn();
    return this.began.slice(before);
  }
}

test('while two names are active, each begins its share in a turn, in order', async () => {
  const requests = new Requests();
  await requests.begin('healthy', ['h1']);
  await requests.begin('hostile', ['x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7']);
  await requests.begin('healthy', ['h2', 'h3']);
  assert.deepEqual(requests.began, ['h1', 'x1', 'x2', 'x3', 'h2', 'h3']);
  assert.deepEqual(await requests.nextTurn(), ['x4', 'x5', 'x6']);
  await requests.begin('healthy', ['h4']);
  assert.equal(requests.began.at(-1), 'h4', 'waiting requests of another name delay nothing');
  assert.deepEqual(await requests.nextTurn(), ['x7']);
});

test('a name that is active alone has a larger share, and a bound', async () => {
  const requests = new Requests();
  await requests.begin('a', ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  assert.deepEqual(requests.began, ['a1', 'a2', 'a3', 'a4', 'a5']);
  assert.deepEqual(await requests.nextTurn(), ['a6']);
});

test('a name counts as active for a second after its request', async () => {
  const requests = new Requests();
  await requests.begin('healthy', ['h1']);
  requests.clock.nowMs += 999;
  await requests.begin('hostile', ['x1', 'x2', 'x3', 'x4']);
  assert.deepEqual(requests.began, ['h1', 'x1', 'x2', 'x3']);
  requests.clock.nowMs += 1;
  await requests.begin('hostile', ['x5', 'x6', 'x7', 'x8']);
  assert.deepEqual(await requests.nextTurn(), ['x4', 'x5', 'x6', 'x7', 'x8']);
});

test('a heavy request takes more of a share, and a heavier one the share of later turns too', async () => {
  const requests = new Requests();
  await requests.begin('healthy', ['h1']);
  await requests.begin('hostile', ['x1', 'x2'], 2);
  await requests.begin('hostile', ['x3'], 9);
  await requests.begin('hostile', ['x4']);
  assert.deepEqual(requests.began, ['h1', 'x1']);
  assert.deepEqual(await requests.nextTurn(), ['x2']);
  assert.deepEqual(await requests.nextTurn(), ['x3']);
  await requests.begin('healthy', ['h2']);
  assert.equal(requests.began.at(-1), 'h2', 'the heavy request of another name delays nothing');
  assert.deepEqual(await requests.nextTurn(), []);
  assert.deepEqual(await requests.nextTurn(), []);
  assert.deepEqual(await requests.nextTurn(), ['x4']);
});

test('while turns come late, each name begins half of its share', async () => {
  const requests = new Requests();
  await requests.begin('healthy', ['h1']);
  await requests.begin('hostile', ['x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'x8']);
  requests.clock.nowMs += 3;
  assert.deepEqual(await requests.nextTurn(), []);
  requests.clock.nowMs += 3;
  assert.deepEqual(await requests.nextTurn(), ['x4']);
  requests.clock.nowMs += 2;
  assert.deepEqual(await requests.nextTurn(), ['x5', 'x6', 'x7'], 'a turn in time');
});

test('a charge counts like a begun request: later requests of the name wait for it', async () => {
  const requests = new Requests();
  await requests.begin('healthy', ['h1']);
  await requests.begin('hostile', ['x1']);
  requests.charge('hostile', 8);
  await requests.begin('hostile', ['x2']);
  await requests.begin('healthy', ['h2']);
  assert.deepEqual(requests.began, ['h1', 'x1', 'h2']);
  assert.deepEqual(await requests.nextTurn(), []);
  assert.deepEqual(await requests.nextTurn(), []);
  assert.deepEqual(await requests.nextTurn(), ['x2']);
});

test('bytes above the limit of a name wait in order, and another name does not wait for them', async () => {
  const turns = new ByteTurns(10);
  const began: string[] = [];
  const take = (name: string, bytes: number): Promise<() => void> =>
    turns.take(name, bytes).then((free) => {
      began.push(`${name} ${bytes}`);
      return free;
    });
  const first = await take('a', 8);
  const large = take('a', 30);
  const small = take('a', 1);
  await take('b', 10);
  await turn();
  assert.deepEqual(began, ['a 8', 'b 10']);
  first();
  await turn();
  assert.deepEqual(began, ['a 8', 'b 10', 'a 30'], 'one above the limit begins alone');
  (await large)();
  (await small)();
  assert.deepEqual(began.at(-1), 'a 1');
});
