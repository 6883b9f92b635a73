import type { Steps } from "../data/meta";

export interface StepStatistics {
  count: number;
  median: number;
  /** Half of the range between the quartiles: a first slow step does not blow it up. */
  spread: number;
  p95: number;
  slowest: number;
  slowestIndex: number;
}

export function stepStatistics(steps: Steps | null): StepStatistics | null {
  if (steps === null || steps.durations_ns.length === 0) return null;
  const sorted = [...steps.durations_ns].sort((a, b) => a - b);
  const slowest = sorted.at(-1)!;
  return {
    count: sorted.length + steps.left_out,
    median: quantile(sorted, 0.5),
    spread: (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2,
    p95: quantile(sorted, 0.95),
    slowest,
    slowestIndex: steps.durations_ns.indexOf(slowest),
  };
}

function quantile(sorted: readonly number[], part: number): number {
  const at = part * (sorted.length - 1);
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - Math.floor(at));
}
