import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Curve, curvesSvg, tableOf, trendOf } from './curves.ts';

const curve = (values: readonly number[], floor = 0): Curve => ({
  ...{ name: 'memory', unit: 'MB', floor, values },
});
const over = (valueAt: (nth: number) => number): readonly number[] =>
  Array.from({ length: 60 }, (_, nth) => valueAt(nth));

test('a curve that swings around a constant is flat, also with single peaks', () => {
  const { isFlat, median } = trendOf(curve(over((n) => (n % 20 === 0 ? 900 : 100 + (n % 7)))));
  assert.equal(isFlat, true);
  assert.ok(median >= 100 && median < 107);
});

test('a curve that grows steadily is not flat', () => {
  const { isFlat, growth } = trendOf(curve(over((n) => 100 + n)));
  assert.deepEqual({ isFlat, growth }, { isFlat: false, growth: 59 });
});

test('a saw whose teeth rise is not flat', () => {
  assert.equal(trendOf(curve(over((n) => 100 + n * 2 + (n % 10) * 5))).isFlat, false);
});

test('growth below the floor is flat, and a curve that falls is flat', () => {
  assert.equal(
    trendOf(
      curve(
        over((n) => n / 10),
        8,
      ),
    ).isFlat,
    true,
  );
  assert.equal(trendOf(curve(over((n) => 200 - n))).isFlat, true);
});

test('the table names a curve that is not flat, and the drawing has a line for each curve', () => {
  const curves = [curve(over((n) => n)), curve(over(() => 5))];
  assert.match(tableOf(curves).join('\n'), /\+59\.0 MB \| no \|.*\+0\.0 MB \| yes \|/s);
  assert.equal(curvesSvg('soak', curves, 60).match(/<polyline/g)?.length, 2);
});
