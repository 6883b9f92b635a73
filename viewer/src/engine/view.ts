import { ownAmounts, type Filters, type Model } from "./model";

/**
 * The tree as it is drawn: folded, same-frame siblings merged, biggest first, numbered row by row.
 * So a row is a range of numbers with growing `x`, and so are the children of a node:
 * `firstChild[v]` up to `firstChild[v + 1]`.
 */
export interface View {
  size: number;
  whole: number;
  rowStart: Uint32Array;
  firstChild: Uint32Array;
  parent: Int32Array;
  x: Float64Array;
  total: Float64Array;
  self: Float64Array;
  calls: Float64Array;
  frame: Uint32Array;
  layer: Uint8Array;
  /** The first node of the profile that is shown as this one. */
  node: Uint32Array;
  /** For each node of the profile where it is shown (or the nearest above it); −1 if filtered. */
  shownAt: Int32Array;
}

export function makeView(model: Model, filters: Filters): View {
  const merged = merge(model, filters);
  return number(merged, model);
}

interface Merged {
  size: number;
  of: Int32Array;
  parent: Int32Array;
  frame: Uint32Array;
  node: Uint32Array;
  self: Float64Array;
  total: Float64Array;
  calls: Float64Array;
}

/** Fold internals into whoever called them, and make siblings with equal frames one. */
function merge(model: Model, filters: Filters): Merged {
  const { parent, frame } = model.nodes;
  const n = parent.length;
  const own = ownAmounts(model, filters);
  const merged: Merged = {
    size: 0,
    of: new Int32Array(n),
    parent: new Int32Array(n),
    frame: new Uint32Array(n),
    node: new Uint32Array(n),
    self: new Float64Array(n),
    total: new Float64Array(n),
    calls: new Float64Array(n),
  };
  const ids = new PairIds(n);
  for (let node = 0; node < n; node++) {
    const above = parent[node]! < 0 ? -1 : merged.of[parent[node]!]!;
    const hidden = above >= 0 && filters.fold && model.frames.internal[frame[node]!] === 1;
    const id = hidden ? above : ids.of(above, frame[node]!);
    if (id === merged.size) {
      merged.parent[id] = above;
      merged.frame[id] = frame[node]!;
      merged.node[id] = node;
      merged.size++;
    }
    merged.of[node] = id;
    merged.self[id]! += own[node]!;
    if (!hidden) merged.calls[id]! += model.calls[node]!;
  }
  sumUp(merged);
  return merged;
}

function sumUp({ size, parent, self, total }: Merged): void {
  for (let id = size - 1; id >= 0; id--) {
    total[id]! += self[id]!;
    if (parent[id]! >= 0) total[parent[id]!]! += total[id]!;
  }
}

/** Number row by row what has an amount. */
function number(merged: Merged, model: Model): View {
  const children = childLists(merged);
  const shown = new Int32Array(merged.size).fill(-1);
  const order = new Uint32Array(children.ids.length);
  const firstChild = new Uint32Array(order.length + 1);
  const rowStart = [0];
  let end = 0;
  const append = (parent: number) => {
    for (let i = children.start[parent + 1]!; i < children.start[parent + 2]!; i++) {
      shown[children.ids[i]!] = end;
      order[end++] = children.ids[i]!;
    }
  };
  append(-1);
  for (let v = 0; v < end; v++) {
    if (v === rowStart.at(-1)) rowStart.push(end);
    firstChild[v] = end;
    append(order[v]!);
  }
  firstChild[end] = end;
  return fill(merged, model, order, shown, firstChild, rowStart);
}

function fill(
  merged: Merged,
  model: Model,
  order: Uint32Array,
  shown: Int32Array,
  firstChild: Uint32Array,
  rowStart: number[],
): View {
  const size = order.length;
  const view: View = {
    size,
    whole: 0,
    rowStart: Uint32Array.from(rowStart),
    firstChild,
    parent: new Int32Array(size),
    x: new Float64Array(size),
    total: new Float64Array(size),
    self: new Float64Array(size),
    calls: new Float64Array(size),
    frame: new Uint32Array(size),
    layer: new Uint8Array(size),
    node: new Uint32Array(size),
    shownAt: whereShown(merged, shown),
  };
  for (let v = 0; v < size; v++) {
    const id = order[v]!;
    const above = merged.parent[id]!;
    view.parent[v] = above < 0 ? -1 : shown[above]!;
    view.total[v] = merged.total[id]!;
    view.self[v] = merged.self[id]!;
    view.calls[v] = merged.calls[id]!;
    view.frame[v] = merged.frame[id]!;
    view.node[v] = merged.node[id]!;
    view.layer[v] = model.nodes.layer[merged.node[id]!]!;
    if (above < 0) view.whole += merged.total[id]!;
  }
  place(view);
  return view;
}

function place(view: View): void {
  let x = 0;
  for (let v = 0; v < view.size; v++) {
    const parent = view.parent[v]!;
    if (parent >= 0 && v === view.firstChild[parent]) x = view.x[parent]!;
    view.x[v] = x;
    x += view.total[v]!;
  }
}

function whereShown(merged: Merged, shown: Int32Array): Int32Array {
  const nearest = new Int32Array(merged.size);
  for (let id = 0; id < merged.size; id++) {
    const above = merged.parent[id]!;
    nearest[id] = shown[id]! >= 0 ? shown[id]! : above >= 0 ? nearest[above]! : -1;
  }
  return merged.of.map((id) => nearest[id]!);
}

/** The children of each merged node that have an amount, biggest first; of none at index 0. */
function childLists({ size, parent, total }: Merged): { start: Uint32Array; ids: Uint32Array } {
  const start = new Uint32Array(size + 2);
  let kept = 0;
  for (let id = 0; id < size; id++) {
    if (total[id]! > 0) {
      start[parent[id]! + 2]!++;
      kept++;
    }
  }
  for (let i = 1; i < start.length; i++) start[i]! += start[i - 1]!;
  const next = start.slice();
  const ids = new Uint32Array(kept);
  for (let id = 0; id < size; id++) {
    if (total[id]! > 0) ids[next[parent[id]! + 1]!++] = id;
  }
  for (let i = 0; i < size + 1; i++) {
    if (start[i + 1]! - start[i]! > 1)
      ids.subarray(start[i]!, start[i + 1]!).sort((a, b) => total[b]! - total[a]! || a - b);
  }
  return { start, ids };
}

/** Numbers pairs in the order they are first met; a Map of boxed keys is ten times slower. */
class PairIds {
  private readonly mask: number;
  private readonly slots: Int32Array;
  private readonly first: Int32Array;
  private readonly second: Int32Array;
  private size = 0;

  constructor(most: number) {
    const capacity = 1 << (33 - Math.clz32(most | 1));
    this.mask = capacity - 1;
    this.slots = new Int32Array(capacity).fill(-1);
    this.first = new Int32Array(most);
    this.second = new Int32Array(most);
  }

  of(first: number, second: number): number {
    let slot = (Math.imul(first, 0x9e3779b1) ^ Math.imul(second + 1, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & this.mask;
    for (; ; slot = (slot + 1) & this.mask) {
      const id = this.slots[slot]!;
      if (id < 0) break;
      if (this.first[id] === first && this.second[id] === second) return id;
    }
    this.slots[slot] = this.size;
    this.first[this.size] = first;
    this.second[this.size] = second;
    return this.size++;
  }
}

export function depthOf(view: View, v: number): number {
  let depth = 0;
  for (let above = view.parent[v]!; above >= 0; above = view.parent[above]!) depth++;
  return depth;
}

/** From the outermost to the node itself. */
export function pathTo(view: View, v: number): number[] {
  const path: number[] = [];
  for (let at = v; at >= 0; at = view.parent[at]!) path.push(at);
  return path.reverse();
}


