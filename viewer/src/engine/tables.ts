import { group, type Grouping, type Key } from "./groups";
import { ownAmounts, type Filters, type Model } from "./model";
import { preorder, type Order } from "./order";
import { Shares } from "./shares";

/** One line of a table, as `pellucid top` gives it (docs/report.md). */
export interface Row extends Key {
  self: number;
  total: number;
  backward: number;
  /** Of an operator or kernel what was counted, of a module an estimate; null if not known. */
  calls: number | null;
  /** Of self and of total, as fractions of the recorded threads in which the row appears. */
  selfShare: number | null;
  totalShare: number | null;
  /** The node with the largest total of its own, to go to. */
  node: number;
}

export interface Table {
  by: Grouping;
  rows: Row[];
  recorded: number;
  /** What is no row's `self`: outside operators, modules or the program's own lines. */
  unassigned: number;
}

const WITH_CALLS: readonly Grouping[] = ["operator", "kernel", "module"];
const INHERITED: readonly Grouping[] = ["module", "function", "line", "kernel"];

export const ordersBySelf = (by: Grouping): boolean => by === "operator" || by === "kernel";

export function makeTable(model: Model, by: Grouping, filters: Filters): Table {
  const { nodes } = model;
  const parent = by === "thread" ? nodes.parent : nodes.logical;
  const order = preorder(parent);
  const { keys, ofNode } = group(model, order, parent, by, filters.fold);
  const own = ownAmounts(model, filters);
  const rows = keys.map(emptyRow);
  const unassigned = addSelfs(rows, own, owners(order, parent, ofNode, INHERITED.includes(by)));
  addTotals(model, rows, order, parent, ofNode, own);
  if (WITH_CALLS.includes(by)) addCalls(rows, ofNode, model.calls);
  const amount = ordersBySelf(by) ? "self" : "total";
  rows.sort((a, b) => b[amount] - a[amount] || compareKeys(a, b));
  return {
    by,
    rows: rows.filter((row) => row.total > 0 || row.calls !== null),
    recorded: own.reduce((sum, value) => sum + value, 0),
    unassigned: by === "thread" ? 0 : unassigned,
  };
}

function emptyRow(key: Key): Row {
  const numbers = { self: 0, total: 0, backward: 0, calls: null, selfShare: null, totalShare: null };
  return { ...key, ...numbers, node: -1 };
}

/** The row that each node's own amount belongs to: its own, else the nearest one above. */
function owners(order: Order, parent: Int32Array, ofNode: Int32Array, inherit: boolean): Int32Array {
  if (!inherit) return ofNode;
  const owner = ofNode.slice();
  for (const node of order.nodes) {
    if (owner[node]! < 0 && parent[node]! >= 0) owner[node] = owner[parent[node]!]!;
  }
  return owner;
}

function addSelfs(rows: Row[], own: Float64Array, owner: Int32Array): number {
  let unassigned = 0;
  for (let node = 0; node < own.length; node++) {
    if (owner[node]! < 0) unassigned += own[node]!;
    else rows[owner[node]!]!.self += own[node]!;
  }
  return unassigned;
}

/** Totals over the topmost nodes of each row: recursion counts once. */
function addTotals(
  model: Model,
  rows: Row[],
  order: Order,
  parent: Int32Array,
  ofNode: Int32Array,
  own: Float64Array,
): void {
  const all = prefixSums(order, own);
  const backward = prefixSums(order, own.map((value, node) => value * model.nodes.backward[node]!));
  const shares = new Shares(model, own, order, parent);
  const seen = rows.map(() => ({ until: 0, biggest: -1, threads: shares.none() }));
  for (const node of order.nodes) {
    const row = rows[ofNode[node]!];
    const state = seen[ofNode[node]!];
    if (row === undefined || state === undefined || order.begin[node]! < state.until) continue;
    state.until = order.end[node]!;
    shares.include(state.threads, node);
    const total = all[order.end[node]!]! - all[order.begin[node]!]!;
    row.total += total;
    row.backward += backward[order.end[node]!]! - backward[order.begin[node]!]!;
    if (total > state.biggest) {
      state.biggest = total;
      row.node = node;
    }
  }
  rows.forEach((row, i) => {
    const whole = shares.whole(seen[i]!.threads);
    if (whole > 0) {
      row.selfShare = row.self / whole;
      row.totalShare = row.total / whole;
    }
  });
}

function prefixSums(order: Order, values: Float64Array): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) sums[i + 1] = sums[i]! + values[order.nodes[i]!]!;
  return sums;
}

function addCalls(rows: Row[], ofNode: Int32Array, calls: Float64Array): void {
  for (let node = 0; node < ofNode.length; node++) {
    const row = rows[ofNode[node]!];
    if (row !== undefined && calls[node]! > 0) row.calls = (row.calls ?? 0) + calls[node]!;
  }
}

function compareKeys(a: Key, b: Key): number {
  return (
    compare(a.name, b.name) || compare(a.file ?? "", b.file ?? "") || (a.line ?? 0) - (b.line ?? 0)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
