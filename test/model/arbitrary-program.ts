// Random programs. The weights keep most of a program plausible, since a refusal at the first guard
// hides the guards behind it. They favour moments because bugs live at their edges.

import fc from 'fast-check';
import { DECLARED_EXITS } from '../../src/lease/exit.ts';
import {
  type Batch,
  type FenceChoice,
  KEYS,
  type PolicyName,
  type Program,
  SEATS,
  type Seat,
  type Step,
} from './step.ts';

type Arb<Value> = fc.Arbitrary<Value>;

const seat: Arb<Seat> = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: SEATS - 2 }) },
  { weight: 1, arbitrary: fc.constant(SEATS - 1) },
);
// The first key is the busiest, since interesting states need several terms on one key.
const key = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat({ max: KEYS - 1 }) },
);
const exit = fc.constantFrom(...DECLARED_EXITS);
const ttlMs = fc.constantFrom(10_000, 3_000, 100_000, 1_000, 50);
const graceMs = fc.constantFrom(0, 200, 400, 5_000);

function rarely<Value>(arbitrary: Arb<Value>): Arb<Value | undefined> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const fence: Arb<FenceChoice> = fc.oneof(
  { weight: 14, arbitrary: fc.constant<FenceChoice>('newest') },
  {
    weight: 3,
    arbitrary: fc.constantFrom<FenceChoice>('older', 'of-another-key', 'ancient'),
  },
);
const tenancy = {
  key,
  fence,
  as: fc.oneof(
    { weight: 8, arbitrary: fc.constant('holder' as const) },
    { weight: 1, arbitrary: seat },
  ),
};

/** Leaves out optional parts that were not drawn, instead of setting them to undefined. */
function step(arbitrary: Arb<object>): Arb<Step> {
  return arbitrary.map(
    (drawn) => Object.fromEntries(Object.entries(drawn).filter(([, v]) => v !== undefined)) as Step,
  );
}

function verb<Verb extends Step['verb']>(name: Verb): Arb<Verb> {
  return fc.constant(name);
}

const open = step(
  fc.record({
    verb: verb('open'),
    seat,
    fresh: fc.oneof(
      { weight: 8, arbitrary: fc.constant('if-dead' as const) },
      { weight: 1, arbitrary: fc.constantFrom('always' as const, 'never') },
    ),
    parent: rarely(seat),
    ttlMs,
    graceMs,
  }),
);

const heartbeat = step(
  fc
    .record({
      verb: verb('heartbeat'),
      seat,
      other: rarely(seat),
      ttlMs: rarely(ttlMs),
    })
    .map(({ other, ...rest }) => ({ ...rest, asOwnerOf: other ?? rest.seat })),
);

const end = step(
  fc
    .record({ seat, exit, other: rarely(seat), operator: rarely(fc.constant(true)) })
    .map((drawn) => ({
      verb: 'end',
      seat: drawn.seat,
      by:
        drawn.operator === true
          ? 'operator'
          : { asOwnerOf: drawn.other ?? drawn.seat, exit: drawn.exit },
    })),
);

const yes = fc.constant(true as const);

const acquire = step(
  fc.record({
    verb: verb('acquire'),
    seat,
    key,
    attempt: fc.oneof(
      { weight: 6, arbitrary: fc.constant('new' as const) },
      { weight: 4, arbitrary: fc.constant('own' as const) },
      { weight: 1, arbitrary: fc.constant('last' as const) },
    ),
    wait: fc.option(yes, { nil: undefined, freq: 2 }),
    reopen: rarely(yes),
    fromCheckpointBefore: rarely(yes),
    tenureMsMax: rarely(fc.constantFrom(1, 300, 1_500, 5_000)),
  }),
);

const checkpoint = step(
  fc.record({
    verb: verb('checkpoint'),
    ...tenancy,
    seq: fc.oneof(
      { weight: 6, arbitrary: fc.constant('next' as const) },
      { weight: 4, arbitrary: fc.constantFrom('skip' as const, 'same', 'lower') },
    ),
    text: fc.constantFrom('', 'a', 'b', 'eight by', 'nine byte'),
    type: rarely(fc.constant('text/plain')),
  }),
);

const effect = fc.nat({ max: 3 });
const beginIntent = step(
  fc.record({
    verb: verb('beginIntent'),
    ...tenancy,
    effect,
    note: rarely(fc.constant('note "quoted" — ünïcode')),
  }),
);
const settleIntent = step(fc.record({ verb: verb('settleIntent'), ...tenancy, effect }));

const release = step(
  fc.record({
    verb: verb('release'),
    ...tenancy,
    exit: fc.oneof(exit, fc.constant('yielded' as const)),
    cause: rarely(fc.constant('because')),
  }),
);

const request = fc.oneof(
  { weight: 3, arbitrary: fc.constant('new' as const) },
  { weight: 1, arbitrary: fc.constant('last' as const) },
);
const requestDrain = step(
  fc.record({
    verb: verb('requestDrain'),
    key,
    fence,
    request,
    deadlineMs: fc.constantFrom(0, 500, 3_000, 20_000),
    successor: fc.option(seat, { nil: undefined, freq: 2 }),
  }),
);
const revoke = step(fc.record({ verb: verb('revoke'), key, fence, request }));

// A fence that was never issued halts everything that follows, so it is rare.
const anyFence: Arb<FenceChoice> = fc.oneof(
  { weight: 12, arbitrary: fence },
  { weight: 1, arbitrary: fc.constantFrom<FenceChoice>('ahead', 'far-ahead') },
);
const verify = step(fc.record({ verb: verb('verify'), key, fence: anyFence }));
const forgedWrite = step(
  fc.record({
    verb: verb('settleIntent'),
    ...tenancy,
    fence: fc.constantFrom<FenceChoice>('ahead', 'far-ahead'),
    effect,
  }),
);

const sweep = step(fc.record({ verb: verb('sweep'), limit: fc.constantFrom(3, 100) }));
const recover = step(fc.record({ verb: verb('recover') }));
const raiseEpoch = step(fc.record({ verb: verb('raiseEpoch') }));

const advance = step(
  fc.record({
    verb: verb('advance'),
    // Mostly the next one, since a later one would skip those before it.
    moment: fc.oneof(
      { weight: 5, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.nat({ max: 9 }) },
    ),
    offsetMs: fc.constantFrom(-1, 0, 1),
  }),
);
const pass = step(
  fc.record({ verb: verb('pass'), ms: fc.constantFrom(1, 100, 900, 3_000, 25_000) }),
);

const operation: Arb<Step> = fc.oneof(
  { weight: 4, arbitrary: open },
  { weight: 4, arbitrary: step(fc.record({ verb: verb('live'), seat })) },
  { weight: 6, arbitrary: heartbeat },
  { weight: 2, arbitrary: end },
  { weight: 12, arbitrary: acquire },
  { weight: 1, arbitrary: fc.record({ verb: verb('withdraw'), seat, key }) },
  { weight: 7, arbitrary: checkpoint },
  { weight: 4, arbitrary: beginIntent },
  { weight: 3, arbitrary: settleIntent },
  { weight: 6, arbitrary: release },
  { weight: 3, arbitrary: requestDrain },
  { weight: 2, arbitrary: revoke },
  { weight: 3, arbitrary: verify },
  { weight: 4, arbitrary: sweep },
  { weight: 1, arbitrary: recover },
  { weight: 1, arbitrary: raiseEpoch },
  { weight: 1, arbitrary: forgedWrite },
);
const time: Arb<Step> = fc.oneof({ weight: 4, arbitrary: advance }, { weight: 1, arbitrary: pass });

const alone: Arb<Batch> = fc
  .oneof({ weight: 7, arbitrary: operation }, { weight: 1, arbitrary: time })
  .map((each) => [each]);

/** A few steps that make sense together, so that programs reach interesting states. */
type Fragment = readonly Batch[];

/** All sessions send a heartbeat. */
const beats: Fragment = [0, 1, 2].map((each) => [{ verb: 'live', seat: each }]);

/** One term: a session takes the key and works. */
const term: Arb<Fragment> = fc
  .tuple(
    acquire,
    fc.array(fc.oneof(checkpoint, beginIntent, settleIntent, requestDrain), { maxLength: 3 }),
    rarely(fc.oneof(release, revoke, end)),
  )
  .map(([first, work, last]) =>
    [first, ...work, ...(last === undefined ? [] : [last])].map((each) => [each]),
  );

const edge = fc.constantFrom(0 as const, -1, 1);
const newest = { key: 0, fence: 'newest', as: 'holder' } as const;

/** A session loses the key by silence, which has consequences when it happens again. */
const loss: Arb<Fragment> = fc
  .record({ loser: seat, next: seat, edge })
  .map((drawn) => [
    [{ verb: 'live', seat: drawn.loser }],
    [{ verb: 'acquire', seat: drawn.loser, key: 0, attempt: 'new', reopen: true }],
    [{ verb: 'outlive', seat: drawn.loser, offsetMs: drawn.edge }],
    [{ verb: 'live', seat: drawn.next }],
    [{ verb: 'acquire', seat: drawn.next, key: 0, attempt: 'new' }],
    [{ verb: 'release', ...newest, exit: 'finished' }],
  ]);

/** A holder hands a key to a named successor, and some session asks for it. */
const handover: Arb<Fragment> = fc
  .record({ requestDrain, release, successor: seat, acquire })
  .map((drawn) => [
    [{ ...drawn.requestDrain, successor: drawn.successor }],
    [{ ...drawn.release, exit: 'yielded' } as Step],
    [drawn.acquire],
  ]);

/** Sessions above sessions; the lowest of them takes the key. */
const family: Arb<Fragment> = fc
  .record({ depth: fc.integer({ min: 1, max: 3 }), ttlMs, graceMs, acquire, operation })
  .map((drawn) => {
    const children = [1, 2, 3].slice(0, drawn.depth).map((each): Batch => {
      const { ttlMs: ttl, graceMs: grace } = drawn;
      const child = { seat: each, parent: each - 1, ttlMs: ttl * each, graceMs: grace };
      return [{ verb: 'open', fresh: 'always', ...child }];
    });
    return [...children, [{ ...drawn.acquire, seat: drawn.depth } as Step], [drawn.operation]];
  });

/** To one edge of a moment, and a step there. */
const atTheEdge: Arb<Fragment> = fc
  .tuple(advance, operation, rarely(acquire))
  .map(([when, what, next]) => [[when], [what], ...(next === undefined ? [] : [[next]])]);

// A fence that is ahead when it is refused may be in the past when the alarm is due. Then there is
// no alarm, and no order of the two explains that. This is not a bug.
const together: Arb<Batch> = fc
  .array(operation, { minLength: 2, maxLength: 3 })
  .filter((batch) => !(batch.some(isForged) && batch.some((each) => each.verb === 'raiseEpoch')));

function isForged(each: Step): boolean {
  return 'fence' in each && (each.fence === 'ahead' || each.fence === 'far-ahead');
}

/** The same key, or the same sessions, at the same time, where bugs are likely. */
const clash: Arb<Batch> = fc
  .tuple(
    fc.oneof(acquire, release, checkpoint, requestDrain, end, beginIntent),
    fc.oneof(acquire, revoke, end, heartbeat, checkpoint, requestDrain, release),
    rarely(fc.oneof(acquire, sweep, recover, verify)),
  )
  .map(([one, other, third]) =>
    [one, other, ...(third === undefined ? [] : [third])].map((each) =>
      'key' in each ? { ...each, key: 0 } : each,
    ),
  );

/** All sessions exist at the start, since programs that begin with refusals find little. */
const prelude: Fragment = [0, 1, 2].map((each) => [
  { verb: 'open', seat: each, fresh: 'if-dead', ttlMs: 3_000 * (each + 1), graceMs: 400 },
]);

function programOf(fragments: Arb<readonly Fragment[]>): Arb<Program> {
  return fc
    .record({
      policy: fc.constantFrom<PolicyName>('tight', 'tight', 'loose'),
      crowd: fc.constantFrom(0, 0, 0, 8),
      prelude: fc.oneof(
        { withCrossShrink: true },
        { weight: 1, arbitrary: fc.constant<Fragment>([]) },
        { weight: 12, arbitrary: fc.constant(prelude) },
      ),
      fragments,
    })
    .map(({ policy, crowd, fragments: drawn, prelude: first }) => ({
      ...{ policy, crowd },
      batches: [...first, ...drawn.flat()],
    }));
}

const inSequence: Arb<Fragment> = fc.oneof(
  { weight: 10, arbitrary: alone.map((batch) => [batch]) },
  { weight: 3, arbitrary: term },
  { weight: 2, arbitrary: loss },
  { weight: 1, arbitrary: handover },
  { weight: 1, arbitrary: family },
  { weight: 3, arbitrary: atTheEdge },
  { weight: 2, arbitrary: fc.constant(beats) },
);

const atOnce: Arb<Fragment> = fc
  .oneof({ weight: 2, arbitrary: clash }, { weight: 1, arbitrary: together })
  .map((batch) => [batch]);

export const oneAtATime: Arb<Program> = programOf(
  fc.array(inSequence, { minLength: 1, maxLength: 40, size: 'max' }),
);

export const severalAtOnce: Arb<Program> = programOf(
  fc.array(fc.oneof({ weight: 3, arbitrary: inSequence }, { weight: 4, arbitrary: atOnce }), {
    minLength: 2,
    maxLength: 25,
    size: 'max',
  }),
);
