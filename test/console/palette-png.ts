// Writes a picture with 256 colours, which takes a third of the bytes of a screenshot.

import { crc32, deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';

const COLOURS_MAX = 256;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

const DECODE = `async (source) => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const { width, height } = image;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  let text = '';
  for (let at = 0; at < data.length; at += 9000) text += String.fromCharCode(...data.subarray(at, at + 9000));
  return { width, height, pixels: btoa(text) };
}`;

interface Decoded {
  readonly width: number;
  readonly height: number;
  readonly pixels: string;
}

/** `page` is a blank page, whose browser decodes the screenshot. */
export async function withPalette(page: Page, screenshot: Buffer): Promise<Buffer> {
  const source = `data:image/png;base64,${screenshot.toString('base64')}`;
  const found = await page.evaluate<Decoded>(`(${DECODE})(${JSON.stringify(source)})`);
  const { width, height } = found;
  const pixels = Buffer.from(found.pixels, 'base64');
  const colours = Array.from({ length: width * height }, (_, nth) => pixels.readUIntBE(4 * nth, 3));
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts.entries()]
    .sort(([, one], [, other]) => other - one)
    .slice(0, COLOURS_MAX)
    .map(([colour]) => colour);
  const places = new Map(
    [...counts.keys()].map((colour) => [colour, nearestTo(colour, palette)] as const),
  );
  const lines = Buffer.alloc(height * (width + 1));
  for (const [nth, colour] of colours.entries()) {
    const line = Math.floor(nth / width);
    lines[line * (width + 1) + 1 + (nth % width)] = places.get(colour) ?? 0;
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for each pixel, which is a place in the palette.
  head.set([8, 3, 0, 0, 0], 8);
  const colourBytes = palette.flatMap((colour) => [...partsOf(colour)]);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(colourBytes)),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function partsOf(colour: number): readonly [number, number, number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function nearestTo(colour: number, palette: readonly number[]): number {
  const parts = partsOf(colour);
  let best = { place: 0, distance: Number.POSITIVE_INFINITY };
  for (const [place, other] of palette.entries()) {
    const distance = partsOf(other).reduce(
      (sum, part, nth) => sum + (part - (parts[nth] ?? 0)) ** 2,
      0,
    );
    if (distance < best.distance) best = { place, distance };
  }
  return best.place;
}

function chunk(name: string, data: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  const content = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(content));
  return Buffer.concat([size, content, sum]);
}
