import type { Nodes, Stats } from "../data/decode";
import type { Frames } from "../data/meta";
import { findThreads, type Threads } from "./threads";

/** What everything is computed from. */
export interface Model {
  nodes: Nodes;
  calls: Float64Array;
  stats: Stats[];
  /** Indices into `stats`; only these add up over a tree. */
  additive: boolean[];
  durations: number;
  frames: Frames;
  strings: string[];
  kinds: string[];
  threads: Threads;
}

export type Phase = "all" | "forward" | "backward";

/** What is counted; `threads` are indices of the model's threads, null means all. */
export interface Filters {
  metric: number;
  phase: Phase;
  threads: readonly number[] | null;
  fold: boolean;
}

export function makeModel(parts: Omit<Model, "threads">): Model {
  return { ...parts, threads: findThreads(parts) };
}

/** Each node's own amount of the metric that the filters leave; 0 where nothing was measured. */
export function ownAmounts(model: Model, filters: Filters): Float64Array {
  const { backward } = model.nodes;
  const own = new Float64Array(backward.length);
  const stats = model.stats[filters.metric];
  if (stats === undefined) return own;
  const wanted = filters.phase === "all" ? -1 : Number(filters.phase === "backward");
  const threads = filters.threads && new Set(filters.threads);
  for (let row = 0; row < stats.node.length; row++) {
    const node = stats.node[row]!;
    if (wanted >= 0 && backward[node] !== wanted) continue;
    if (threads && !threads.has(model.threads.of[node]!)) continue;
    own[node] = stats.sum[row]! || 0; // a row that only counts calls holds NaN
  }
  return own;
}

export function kindNumber(model: Pick<Model, "kinds">, name: string): number {
  return model.kinds.indexOf(name);
}
