// The page of a signed link. It shows one request and accepts one answer, without an API key. Strangers
// open it on telephones, so it is plain DOM: the console's framework would be most of its size.

import './look/answer.css';
import type { LinkedMessage } from '../../src/features/awaits/messages.ts';
import { requestTo } from '../../src/protocol/messages/request.ts';
import { call, Refused } from './api/call.ts';
import {
  ANSWER_EXAMPLE,
  type FieldSchema,
  fieldsOf,
  readAnswer,
  requireAnswer,
} from './model/answer-fields.ts';
import { summaryOf } from './model/summary.ts';

const SAVED = 'Thank you. Your answer was saved.';
const ANSWERED = 'Already answered.';
const OVER = 'This request was cancelled or has expired.';

type Content = Node | string;

/** Text becomes text nodes, never markup. */
function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...content: readonly Content[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

export async function showAnswer(root: HTMLElement, link: string): Promise<void> {
  const place = element('div', { class: 'card answer-card' });
  root.append(element('main', { class: 'answer-page' }, place));
  document.title = 'Your response is requested · Holdfast';
  try {
    const asked = await call(requestTo('GET /v1/answers/:link', { link }));
    place.append(...requestParts(asked), ...answerParts(asked, link));
  } catch (error) {
    place.append(element('h1', {}, 'Nothing to answer'), problem(error));
  }
}

const DUE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

function isOpen({ status }: LinkedMessage): boolean {
  return status === 'open' || status === 'early';
}

function requestParts(asked: LinkedMessage): readonly Content[] {
  const { name, request, dueAt } = asked;
  const fields = summaryOf(request);
  return [
    element('p', { class: 'about' }, 'holdfast'),
    element('h1', {}, name ?? 'Your response is requested'),
    ...(dueAt === undefined || !isOpen(asked)
      ? []
      : [element('p', { class: 'about' }, `Answer by ${DUE.format(new Date(dueAt))}`)]),
    ...(fields.length === 0
      ? []
      : [
          element(
            'dl',
            { class: 'answer-summary' },
            ...fields.flatMap(([term, text]) => [element('dt', {}, term), element('dd', {}, text)]),
          ),
        ]),
    ...(request === undefined
      ? []
      : [
          element(
            'details',
            {},
            element('summary', {}, 'Full request'),
            element(
              'pre',
              { tabindex: '0', role: 'group', 'aria-label': 'Request' },
              JSON.stringify(request, undefined, 2),
            ),
          ),
        ]),
  ];
}

function answerParts(asked: LinkedMessage, link: string): readonly Content[] {
  if (!isOpen(asked)) return [note(asked.status === 'answered' ? ANSWERED : OVER)];
  const fields = fieldsOf(asked.answerSchema);
  const inputs = fields === undefined ? [jsonInput()] : fields.map(fieldInput);
  const send = element('button', { type: 'submit', class: 'primary' }, 'Submit');
  const problems = element('div', {});
  const form = element('form', { class: 'answer-form' }, ...inputs, problems, send);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send.disabled = true;
    problems.replaceChildren();
    void answer(form, fields, link)
      .then(() => form.replaceWith(note(SAVED)))
      .catch((error: unknown) => {
        problems.replaceChildren(problem(error));
        send.disabled = false;
      });
  });
  return [form];
}

async function answer(
  form: HTMLFormElement,
  fields: readonly FieldSchema[] | undefined,
  link: string,
): Promise<void> {
  const typed = Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, String(value)]),
  );
  const text = typed['json']?.trim() ?? '';
  const json: unknown = fields === undefined && text !== '' ? JSON.parse(text) : undefined;
  const value = requireAnswer(fields === undefined ? json : readAnswer(fields, typed));
  await call(requestTo('POST /v1/answers/:link', { link, value }));
}

function jsonInput(): HTMLElement {
  const area = element('textarea', { name: 'json', rows: '4', placeholder: ANSWER_EXAMPLE });
  return element('label', { class: 'answer-field' }, 'Answer (JSON)', area);
}

function fieldInput(field: FieldSchema): HTMLElement {
  const { name, title, kind, options, isRequired, about } = field;
  const label = isRequired ? title : `${title} (optional)`;
  const required: Record<string, string> = isRequired ? { required: '' } : {};
  const choices =
    kind === 'boolean'
      ? ([
          ['true', 'yes'],
          ['false', 'no'],
        ] as const)
      : options?.map((each) => [each, each] as const);
  if (choices !== undefined) {
    return element(
      'fieldset',
      { class: 'answer-field' },
      element('legend', {}, label),
      ...choices.map(([value, text]) =>
        element(
          'label',
          { class: 'chip' },
          element('input', { type: 'radio', name, value, ...required }),
          text,
        ),
      ),
    );
  }
  const type = kind === 'string' ? 'text' : 'number';
  const step: Record<string, string> = kind === 'number' ? { step: 'any' } : {};
  return element(
    'label',
    { class: 'answer-field' },
    label,
    element('input', { type, name, ...step, ...required }),
    ...(about === undefined ? [] : [element('span', { class: 'about' }, about)]),
  );
}

function note(text: string): HTMLElement {
  return element('p', { role: 'status' }, element('strong', {}, text));
}

function problem(error: unknown): HTMLElement {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Refused ? [' ', element('code', {}, error.code)] : [];
  return element('div', { class: 'problem', role: 'alert' }, message, ...code);
}
