// Answers that a receiver sends back, signed with the secret of its channel (CH-16, CH-17). They arrive by
// HTTP or from a queue, and become answers as any other.

import { type ProjectName, parseProject } from '../../execution/names.ts';
import { type Coordinator, ProblemReply, projectShare } from '../../protocol/rest/route.ts';
import { InvalidInput } from '../../support/fault.ts';
import { present, readOptions } from '../../support/options.ts';
import type { InteractionTarget } from '../awaits/answering-api.ts';
import type { Answered } from '../awaits/api.ts';
import type { ChannelAnswerBody } from './messages.ts';

/** The message of an answer differs from every message that a channel sends, so none can be returned. */
const TYPE = 'answer';

/** A channel whose secret signs answers, and an answer that it signed. */
export interface ChannelAnswer extends ChannelAnswerBody {
  readonly project: string;
  readonly channel: string;
}

/** Throws `ProblemReply` if the signature is not valid, and `InvalidInput` if the content is not. */
export async function answerOfChannel(
  coordinator: Coordinator,
  given: ChannelAnswer,
  oldestMs: number,
): Promise<Answered> {
  const project = await verified(coordinator, given, oldestMs);
  await coordinator.shares.begin(projectShare(project));
  const { target, value } = contentOf(given.payload);
  const actor = `channel ${given.channel}`;
  return coordinator.holdfast.awaits.answer(target, value, { project, actor });
}

/** A signature does not show whether the project, the channel or the secret is wrong. */
async function verified(
  { channels, store, clock }: Coordinator,
  { project: name, channel: id, ...message }: ChannelAnswer,
  oldestMs: number,
): Promise<ProjectName> {
  const project = parseProject(name);
  const nowMs = clock.wallMs();
  const isRecent = Math.abs(nowMs - message.timestamp * 1_000) <= oldestMs;
  const channel = isRecent ? await store.access.channel({ project, id }) : undefined;
  const signed = `${message.id}.${message.timestamp}.${message.payload}`;
  const isSigned =
    channel?.answers === true &&
    channels?.secrets.verifies(channel, { signed, signature: message.signature, nowMs }) === true;
  if (isSigned) return project;
  throw new ProblemReply(
    'answer-not-signed',
    'The answer has no valid signature. Nothing was written. Sign `id.timestamp.payload` with the secret of a channel that allows answers, with the current time.',
  );
}

const NAMES = ['type', 'interaction', 'execution', 'name', 'occurrence', 'item', 'value'] as const;

type Content = { readonly [Name in (typeof NAMES)[number]]?: unknown };

function contentOf(payload: string): {
  readonly target: InteractionTarget;
  readonly value: unknown;
} {
  const what = 'payload';
  const read: Content = readOptions(what, parsed(payload), NAMES);
  const { type, interaction, value, ...place } = read;
  if (type !== TYPE) {
    throw new InvalidInput(`payload: type must be "${TYPE}". Nothing was written.`);
  }
  if (typeof interaction === 'string') return { target: interaction, value };
  return { target: present(place) as InteractionTarget, value };
}

function parsed(payload: string): object {
  try {
    return JSON.parse(payload) as object;
  } catch {
    throw new InvalidInput('payload is not valid JSON. Nothing was written.');
  }
}
