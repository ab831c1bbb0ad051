// Which ttl? What is wanted and what is known, what follows from it, and why.

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useMemo, useState } from 'react';
import type {
  AdvisedMessage,
  AssumptionsMessage,
  PredictedMessage,
} from '../../../src/protocol/messages/advice.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call, pathOf, type Refused, withTyped } from '../api/call.ts';
import { LOSSES_MIN, type Recommended, tradeOffOf } from '../model/trade-off.ts';
import { countText, durationText, plural } from '../model/words.ts';
import { Shown } from '../parts/notes.tsx';
import { Plot } from '../parts/plot.tsx';

type Name = keyof AssumptionsMessage;

const FIELDS: readonly (readonly [Name, string])[] = [
  ['ttlMs', 'ttl now, ms'],
  ['graceMs', 'grace now, ms'],
  ['roundTripMs', 'a heartbeat takes, ms'],
  ['roundTripTailMs', 'one in 1,000 takes, ms'],
  ['failuresPer1000', 'of 1,000 fail'],
  ['pausesPerDay', 'pauses of a holder in a day'],
  ['pauseMs', 'they last on average, ms'],
  ['crashesPerMonth', 'a holder dies in a month, times'],
];

const PRESETS = ['batch', 'interactive', 'money'] as const;

type Typed = Readonly<Partial<Record<Name, string>>>;

export function AdvicePanel(): ReactNode {
  const [preset, setPreset] = useState<string>('batch');
  const [typed, setTyped] = useState<Typed>({});
  const request = withTyped(requestTo('GET /v1/advice'), { preset, ...typed });
  // Not live: what is typed is answered once, and what was shown stays until the next answer is there.
  const read = useQuery<AdvisedMessage, Refused>({
    queryKey: ['advice', pathOf(request)],
    queryFn: ({ signal }) => call(request, { signal }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <section className="card" aria-label="Which ttl?">
      <header className="section-head">
        <h2>Which ttl?</h2>
        <p className="about">{sourceOf(read.data)}</p>
      </header>
      <Shown of={read}>
        {read.data === undefined ? null : (
          <>
            <AdviceForm
              key={preset}
              preset={preset}
              typed={typed}
              assumed={read.data.assumed}
              onSubmit={(next) => {
                setPreset(next.preset);
                setTyped(next.typed);
              }}
            />
            <Answer advised={read.data} />
          </>
        )}
      </Shown>
    </section>
  );
}

function sourceOf(advised: AdvisedMessage | undefined): string {
  if (advised === undefined) return ' ';
  const { measured, heartbeats, sessions } = advised;
  const live = `${plural(sessions, 'session')} live now`;
  // Of a key of one project, nothing that is of others too.
  if (heartbeats === 0) return `${live}. What there is in the form is assumed: type what you know.`;
  const seen = measured.includes('roundTripMs')
    ? `${plural(heartbeats, 'heartbeat')} were measured here`
    : `${plural(heartbeats, 'heartbeat')} ${heartbeats === 1 ? 'was' : 'were'} seen here, too few to measure by`;
  return `${live}; ${seen}. What else there is in the form is assumed: type what you know.`;
}

interface FormProps {
  readonly preset: string;
  readonly typed: Typed;
  readonly assumed: AssumptionsMessage;
  readonly onSubmit: (asked: { readonly preset: string; readonly typed: Typed }) => void;
}

function AdviceForm({ preset, typed, assumed, onSubmit }: FormProps): ReactNode {
  const id = useId();
  const [draft, setDraft] = useState<Typed>(typed);
  return (
    <form
      className="fields advice-form"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit({ preset, typed: draft });
      }}
    >
      <div className="field field-wide">
        <label htmlFor={`${id}preset`}>What matters</label>
        <select
          id={`${id}preset`}
          value={preset}
          onChange={(event) => onSubmit({ preset: event.target.value, typed: draft })}
        >
          {PRESETS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </div>
      {FIELDS.map(([name, label]) => (
        <div key={name} className="field field-wide">
          <label htmlFor={id + name}>{label}</label>
          <input
            id={id + name}
            type="number"
            min={0}
            step="any"
            placeholder={String(Number(assumed[name].toPrecision(3)))}
            value={draft[name] ?? ''}
            onChange={(event) => setDraft({ ...draft, [name]: event.target.value })}
          />
        </div>
      ))}
      <button type="submit">Advise</button>
    </form>
  );
}

function Answer({ advised }: { readonly advised: AdvisedMessage }): ReactNode {
  const { advice, assumed } = advised;
  if (advice.kind === 'recommendation') return <Recommendation advice={advice} now={assumed} />;
  return (
    <div className="advised-words" role="status">
      <p className="bad">
        <strong>No ttl keeps every limit.</strong> Against each other stand:{' '}
        {advice.between.join(', ')}.
      </p>
      <Reasons reasons={advice.reasons} />
    </div>
  );
}

interface RecommendationProps {
  readonly advice: Recommended;
  readonly now: AssumptionsMessage;
}

function Recommendation({ advice, now }: RecommendationProps): ReactNode {
  const curves = useMemo(() => tradeOffOf(advice), [advice]);
  const isKept = advice.verdict === 'keep';
  const verdict = isKept
    ? `Keep a ttl of ${durationText(advice.ttlMs)}`
    : `Open sessions with a ttl of ${durationText(advice.ttlMs)} and a grace of ${durationText(advice.graceMs)}`;
  return (
    <div className="advised">
      <Plot
        title="False losses against takeover"
        times={curves.across}
        across={{ label: 'takeover, half are faster', format: secondsText }}
        format={lossesText}
        summary={`each point is one ttl; now ${placeText(advice.current)}, ${isKept ? 'kept' : 'advised'} ${placeText(advice.predicted)}`}
        curves={[
          { label: 'keeps every limit', colour: '--completed', values: curves.kept },
          { label: 'breaks one', colour: '--edge', values: curves.broken },
          { label: 'now', colour: '--rope', values: curves.now, isMark: true },
          { label: 'advised', colour: '--accent', values: curves.advised, isMark: true },
        ]}
      />
      <div className="advised-words">
        <p role="status">
          <strong>{verdict}.</strong>
        </p>
        <Compared advice={advice} now={now} />
        <Reasons reasons={advice.reasons} />
      </div>
    </div>
  );
}

function placeText({ takeoverP50Ms, falseLosses }: PredictedMessage): string {
  return `${durationText(takeoverP50Ms)} and ${lossesText(falseLosses)} false losses in 1,000 lease-days`;
}

function secondsText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${countText(ms / 1_000)} s`;
}

function lossesText(losses: number): string {
  if (losses <= LOSSES_MIN) return `< ${LOSSES_MIN}`;
  return losses >= 100 ? countText(Math.round(losses)) : String(Number(losses.toPrecision(2)));
}

function Compared({ advice, now }: RecommendationProps): ReactNode {
  const { predicted, current } = advice;
  const both = (name: string, textOf: (of: PredictedMessage) => string) =>
    [name, textOf(current), textOf(predicted)] as const;
  const rows: readonly (readonly [string, string, string])[] = [
    ['ttl', durationText(now.ttlMs), durationText(advice.ttlMs)],
    ['heartbeat', durationText(now.ttlMs / 3), durationText(advice.heartbeatMs)],
    ['grace', durationText(now.graceMs), durationText(advice.graceMs)],
    both('takeover, half are faster', ({ takeoverP50Ms }) => durationText(takeoverP50Ms)),
    both('takeover, 99 of 100 are', ({ takeoverP99Ms }) => durationText(takeoverP99Ms)),
    both('false losses in 1,000 lease-days', ({ falseLosses }) => lossesText(falseLosses)),
    both('store writes in a minute, each session', ({ storeWritesPerSecond }) =>
      String(Number((60 * storeWritesPerSecond).toPrecision(2))),
    ),
  ];
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Settings</th>
          <th scope="col">now</th>
          <th scope="col">{advice.verdict === 'keep' ? 'keep' : 'advised'}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, before, after]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{before}</td>
            <td>{after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Reasons({ reasons }: { readonly reasons: readonly string[] }): ReactNode {
  return (
    <ul className="reasons about">
      {reasons.map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
  );
}
