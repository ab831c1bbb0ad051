// Pictures without a library: RGB bytes that are generated from a seed. PPM is the simplest image format.

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Three bytes per pixel, row by row. */
  readonly rgb: Uint8Array;
}

/** A seed always gives the same picture. */
export function paint(seed: number, width: number, height: number): Picture {
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 3;
      rgb[at] = (x * (seed + 1)) % 256;
      rgb[at + 1] = (y * (seed + 2)) % 256;
      rgb[at + 2] = (Math.hypot(x - width / 2, y - height / 2) * (seed + 3)) % 256;
    }
  }
  return { width, height, rgb };
}

/** Counts the pixels in each of `bins` levels of brightness. */
export function histogram({ rgb }: Picture, bins: number): readonly number[] {
  const counts = new Array<number>(bins).fill(0);
  for (let at = 0; at < rgb.length; at += 3) {
    const sum = (rgb[at] ?? 0) + (rgb[at + 1] ?? 0) + (rgb[at + 2] ?? 0);
    const bin = Math.min(bins - 1, Math.floor((sum / 766) * bins));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}

/** Keeps every `factor`-th pixel of every `factor`-th row. */
export function shrink({ width, height, rgb }: Picture, factor: number): Picture {
  const small = { width: Math.floor(width / factor), height: Math.floor(height / factor) };
  const bytes = new Uint8Array(small.width * small.height * 3);
  for (let y = 0; y < small.height; y += 1) {
    for (let x = 0; x < small.width; x += 1) {
      const from = (y * factor * width + x * factor) * 3;
      bytes.set(rgb.subarray(from, from + 3), (y * small.width + x) * 3);
    }
  }
  return { ...small, rgb: bytes };
}

export function toPpm({ width, height, rgb }: Picture): Uint8Array {
  return Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), rgb]);
}
