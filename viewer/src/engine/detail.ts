import type { Stats } from "../data/decode";
import type { Model } from "./model";
import type { View } from "./view";

/** One call's measured distribution; null where no single calls were timed. */
export interface Spread {
  count: number;
  mean: number;
  min: number;
  max: number;
  deviation: number;
}

/** The durations of single calls over all nodes that are shown as `v`. */
export function spreadOf(model: Model, view: View, v: number): Spread | null {
  const stats = model.stats[model.durations];
  if (stats === undefined) return null;
  const { frame } = model.nodes;
  const merged = { count: 0, sum: 0, min: Infinity, max: -Infinity, m2: 0 };
  for (let row = 0; row < stats.node.length; row++) {
    const node = stats.node[row]!;
    if (view.shownAt[node] === v && frame[node] === view.frame[v]) addRow(merged, stats, row);
  }
  if (merged.count === 0) return null;
  const { count, sum, min, max, m2 } = merged;
  return { count, mean: sum / count, min, max, deviation: Math.sqrt(Math.max(0, m2) / count) };
}

interface Merged {
  count: number;
  sum: number;
  min: number;
  max: number;
  m2: number;
}

/** Chan's way to merge two sums of squared deviations. */
function addRow(merged: Merged, stats: Stats, row: number): void {
  const count = stats.count[row]!;
  const sum = stats.sum[row]!;
  if (!(count > 0) || Number.isNaN(sum)) return;
  if (merged.count > 0) {
    const apart = sum / count - merged.sum / merged.count;
    merged.m2 += (apart * apart * merged.count * count) / (merged.count + count);
  }
  merged.m2 += stats.m2[row]!;
  merged.count += count;
  merged.sum += sum;
  merged.min = Math.min(merged.min, stats.min[row]!);
  merged.max = Math.max(merged.max, stats.max[row]!);
}
