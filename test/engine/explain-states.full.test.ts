// Finds every state that the store's verbs can bring an open execution into, and calls explain.
// Each state needs an answer that names its wait.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOVES, STARTS } from './explain-states/moves.ts';
import { openScene, type Scene, stateOf } from './explain-states/scene.ts';

const DEPTH = 20;

interface Node {
  readonly start: string;
  readonly moves: readonly string[];
}

async function played({ start, moves }: Node): Promise<Scene> {
  const scene = await openScene();
  await STARTS[start]?.(scene);
  for (const move of moves) await MOVES[move]?.(scene);
  return scene;
}

/** The code of the answer. Undefined if the state is known. */
async function explained(node: Node, known: Set<string>): Promise<string | undefined> {
  const scene = await played(node);
  const state = await stateOf(scene);
  const isNew = !known.has(state);
  known.add(state);
  const found = isNew ? await scene.holdfast.explain(scene.id) : undefined;
  await scene.close();
  if (found === undefined) return undefined;
  const { code, sentence, until } = found;
  const path = [node.start, ...node.moves].join(', ');
  assert.notEqual(code, 'waiting-for-message', `${path}: ${state}: ${sentence}`);
  assert.match(sentence, /^(Compensating\. )?[A-Z].+/, path);
  assert.ok(until === undefined || until > scene.clock.wallMs(), `${path}: ${sentence}`);
  return code;
}

test('explain has an answer for every state of an open execution', async (t) => {
  const codes = new Map<string, number>();
  const known = new Set<string>();
  let frontier: readonly Node[] = Object.keys(STARTS).map((start) => ({ start, moves: [] }));
  for (let depth = 0; depth <= DEPTH && frontier.length > 0; depth += 1) {
    const next: Node[] = [];
    for (const node of frontier) {
      const code = await explained(node, known);
      if (code === undefined) continue;
      codes.set(code, (codes.get(code) ?? 0) + 1);
      const moves = code === 'ended' ? [] : Object.keys(MOVES);
      next.push(...moves.map((move) => ({ ...node, moves: [...node.moves, move] })));
    }
    frontier = next;
  }
  t.diagnostic(`${known.size} states: ${JSON.stringify(Object.fromEntries(codes))}`);
  assert.equal(frontier.length, 0, 'all of them were found');
  // All answers except the one for a state that no store creates.
  assert.equal(codes.size, 14);
});
