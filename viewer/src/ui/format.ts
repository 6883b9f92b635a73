/** Numbers as they are read: three significant digits, a unit, never a false zero. */

const SPACE = "\u00a0";
export const UNKNOWN = "—";

interface Scale {
  divide: number;
  unit: string;
}

const TIME: readonly Scale[] = [
  { divide: 1e9, unit: "s" },
  { divide: 1e6, unit: "ms" },
  { divide: 1e3, unit: "µs" },
  { divide: 1, unit: "ns" },
];
const BYTES: readonly Scale[] = [
  { divide: 2 ** 30, unit: "GiB" },
  { divide: 2 ** 20, unit: "MiB" },
  { divide: 2 ** 10, unit: "KiB" },
  { divide: 1, unit: "B" },
];

export function scaleFor(largest: number, unit: string): Scale {
  const scales = unit === "ns" ? TIME : unit === "bytes" || unit === "B" ? BYTES : null;
  if (scales === null) return { divide: 1, unit };
  // What would round to 1,000 of a unit belongs to the next one.
  return scales.find(({ divide }) => largest >= divide * 0.9995) ?? scales.at(-1)!;
}

export function amount(value: number | null, unit: string): string {
  if (value === null || Number.isNaN(value)) return UNKNOWN;
  const scale = scaleFor(Math.abs(value), unit);
  return `${significant(value / scale.divide)}${SPACE}${scale.unit}`;
}

/** One unit and one number of decimals for all cells of a column. */
export function columnFormat(largest: number, unit: string): { unit: string; cell: (v: number) => string } {
  const scale = scaleFor(largest, unit);
  const decimals = decimalsFor(largest / scale.divide);
  const least = 0.5 * 10 ** -decimals;
  const cell = (value: number): string => {
    const scaled = value / scale.divide;
    if (scaled > 0 && scaled < least) return `<${grouped(10 ** -decimals, decimals)}`;
    return grouped(scaled, decimals);
  };
  return { unit: scale.unit, cell };
}

export function percent(share: number | null): string {
  if (share === null || Number.isNaN(share)) return UNKNOWN;
  if (share > 0 && share < 0.0005) return `<0.1${SPACE}%`;
  return `${grouped(share * 100, share >= 0.9995 ? 0 : 1)}${SPACE}%`;
}

export function count(value: number | null): string {
  return value === null || Number.isNaN(value) ? UNKNOWN : grouped(value, 0);
}

/** For tooltips and copies: nothing rounded away. */
export function exact(value: number, unit: string): string {
  return `${value.toLocaleString("en-US", { maximumFractionDigits: 3 })}${SPACE}${unit}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n, 0)}${SPACE}${n === 1 ? one : many}`;
}

function significant(value: number): string {
  return grouped(value, decimalsFor(value));
}

function decimalsFor(value: number): number {
  const size = Math.abs(value);
  if (size === 0 || size >= 99.95) return 0;
  return size >= 9.995 ? 1 : 2;
}

function grouped(value: number, decimals: number): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}
