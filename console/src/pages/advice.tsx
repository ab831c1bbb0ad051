// The TTL advisor: goals and measurements in a form, the recommended TTL, and the reasons.

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useMemo, useState } from 'react';
import type {
  AdvisedMessage,
  AssumptionsMessage,
  PredictedMessage,
} from '../../../src/protocol/messages/advice.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call, pathOf, type Refused, withTyped } from '../api/call.ts';
import { logAxis } from '../model/axes.ts';
import { LOSSES_MIN, type Recommended, tradeOffOf } from '../model/trade-off.ts';
import { countText, durationText, plural } from '../model/words.ts';
import { Chart } from '../parts/chart.tsx';
import { PageHead, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';

type Name = keyof AssumptionsMessage;

const FIELDS: readonly (readonly [Name, string])[] = [
  ['ttlMs', 'Current TTL (ms)'],
  ['graceMs', 'Current grace (ms)'],
  ['roundTripMs', 'Heartbeat latency, median (ms)'],
  ['roundTripTailMs', 'Heartbeat latency, p99.9 (ms)'],
  ['failuresPer1000', 'Heartbeat failures per 1,000'],
  ['pausesPerDay', 'Process pauses per day'],
  ['pauseMs', 'Mean pause (ms)'],
  ['crashesPerMonth', 'Crashes per month'],
];

const PRESETS: readonly (readonly [preset: string, label: string])[] = [
  ['batch', 'Throughput'],
  ['interactive', 'Fast takeover'],
  ['money', 'Correctness-critical'],
];

type Typed = Readonly<Partial<Record<Name, string>>>;

export function AdvicePage(): ReactNode {
  return (
    <>
      <p className="crumb">
        <Link to="/leases">Leases</Link> / TTL advisor
      </p>
      <PageHead title="TTL advisor" about="Takeover time against false takeovers" />
      <AdvicePanel />
    </>
  );
}

function AdvicePanel(): ReactNode {
  const [preset, setPreset] = useState<string>('batch');
  const [typed, setTyped] = useState<Typed>({});
  const request = withTyped(requestTo('GET /v1/advice'), { preset, ...typed });
  // Not live: advice changes only with the form. The previous advice stays until the next one arrives.
  const read = useQuery<AdvisedMessage, Refused>({
    queryKey: ['advice', pathOf(request)],
    queryFn: ({ signal }) => call(request, { signal }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <section className="card" aria-label="TTL advisor">
      <header className="section-head">
        <h2>Recommendation</h2>
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
            <Advice advised={read.data} />
          </>
        )}
      </Shown>
    </section>
  );
}

function sourceOf(advised: AdvisedMessage | undefined): string {
  if (advised === undefined) return ' ';
  const { measured, heartbeats, sessions } = advised;
  const live = `${plural(sessions, 'live session')}.`;
  // The coordinator sends 0 to keys for one project: its measurements cover all projects.
  if (heartbeats === 0) return `${live} Defaults are used; replace them with your own numbers.`;
  const seen = plural(heartbeats, 'heartbeat');
  return measured.includes('roundTripMs')
    ? `${live} Heartbeat figures come from ${seen}. For the rest, replace the defaults with your own numbers.`
    : `${live} Only ${seen} observed, so defaults are used; replace them with your own numbers.`;
}

interface FormProps {
  readonly preset: string;
  readonly typed: Typed;
  readonly assumed: AssumptionsMessage;
  readonly onSubmit: (goals: { readonly preset: string; readonly typed: Typed }) => void;
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
        <label htmlFor={`${id}preset`}>Optimise for</label>
        <select
          id={`${id}preset`}
          value={preset}
          onChange={(event) => onSubmit({ preset: event.target.value, typed: draft })}
        >
          {PRESETS.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
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
      <button type="submit">Recommend</button>
    </form>
  );
}

function Advice({ advised }: { readonly advised: AdvisedMessage }): ReactNode {
  const { advice, assumed } = advised;
  if (advice.kind === 'recommendation') return <Recommendation advice={advice} now={assumed} />;
  return (
    <div className="advised-words" role="status">
      <p className="bad">
        <strong>No TTL meets every limit.</strong> Conflicting: {advice.between.join(', ')}.
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
  const isKept = advice.verdict === 'keep';
  const verdict = isKept
    ? `Keep TTL ${durationText(advice.ttlMs)}`
    : `Recommended: TTL ${durationText(advice.ttlMs)}, grace ${durationText(advice.graceMs)}`;
  return (
    <div className="advised">
      <TradeOff advice={advice} />
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

function TradeOff({ advice }: { readonly advice: Recommended }): ReactNode {
  const curves = useMemo(() => tradeOffOf(advice), [advice]);
  const losses = [curves.kept, curves.broken, curves.now, curves.advised].flatMap((values) =>
    values.filter((each) => each !== null),
  );
  const x = logAxis(curves.across, secondsText);
  return (
    <Chart
      title="False takeovers vs. takeover p50"
      places={curves.across.map(x.place)}
      x={x}
      y={logAxis(losses, lossesText)}
      format={lossesText}
      headingOf={(index) => `Takeover p50 ${durationText(curves.across[index] ?? 0)}`}
      summary={`each point is one TTL; current ${pointText(advice.current)}, recommended ${pointText(advice.predicted)}`}
      series={[
        { label: 'within limits', colour: '--completed', values: curves.kept, kind: 'line' },
        { label: 'violates a limit', colour: '--edge', values: curves.broken, kind: 'line' },
        { label: 'current', colour: '--rope', values: curves.now, kind: 'point' },
        { label: 'recommended', colour: '--accent', values: curves.advised, kind: 'point' },
      ]}
    />
  );
}

function pointText({ takeoverP50Ms, falseLosses }: PredictedMessage): string {
  return `${durationText(takeoverP50Ms)} and ${lossesText(falseLosses)} false takeovers per 1,000 lease-days`;
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
    ['TTL', durationText(now.ttlMs), durationText(advice.ttlMs)],
    ['Heartbeat', durationText(now.ttlMs / 3), durationText(advice.heartbeatMs)],
    ['Grace', durationText(now.graceMs), durationText(advice.graceMs)],
    both('Takeover p50', ({ takeoverP50Ms }) => durationText(takeoverP50Ms)),
    both('Takeover p99', ({ takeoverP99Ms }) => durationText(takeoverP99Ms)),
    both('False takeovers per 1,000 lease-days', ({ falseLosses }) => lossesText(falseLosses)),
    both('Store writes per minute per session', ({ storeWritesPerSecond }) =>
      String(Number((60 * storeWritesPerSecond).toPrecision(2))),
    ),
  ];
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Settings</th>
          <th scope="col">Current</th>
          <th scope="col">Recommended</th>
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
