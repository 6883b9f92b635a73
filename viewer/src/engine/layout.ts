import type { View } from "./view";

/** The part of the whole that is shown, in the metric's amounts. */
export interface Range {
  from: number;
  to: number;
}

/** What is drawn of one row: single nodes, and runs of nodes too small for a pixel each. */
export interface Boxes {
  size: number;
  left: Float64Array;
  right: Float64Array;
  first: Uint32Array;
  /** One past the last node of a run; `first + 1` for a single node. */
  end: Uint32Array;
}

/** A row can hold no more boxes than its width has pixels, twice over. */
export function boxesFor(width: number): Boxes {
  const most = Math.ceil(width) * 2 + 4;
  return {
    size: 0,
    left: new Float64Array(most),
    right: new Float64Array(most),
    first: new Uint32Array(most),
    end: new Uint32Array(most),
  };
}

export function layoutRow(view: View, row: number, range: Range, width: number, boxes: Boxes): void {
  const scale = width / (range.to - range.from);
  const end = view.rowStart[row + 1]!;
  boxes.size = 0;
  let v = firstEndingAfter(view, row, range.from);
  while (v < end && view.x[v]! < range.to) {
    const left = (view.x[v]! - range.from) * scale;
    const right = left + view.total[v]! * scale;
    let next = v + 1;
    let until = right;
    if (right - left < 1) {
      // All that starts within this pixel is one run: look for the first that does not.
      next = firstStartingAt(view, v + 1, end, range.from + (Math.floor(left) + 1) / scale);
      until = (view.x[next - 1]! + view.total[next - 1]! - range.from) * scale;
    }
    push(boxes, Math.max(left, 0), Math.min(until, width), v, next);
    v = next;
  }
}

function push(boxes: Boxes, left: number, right: number, first: number, end: number): void {
  const i = boxes.size++;
  boxes.left[i] = left;
  boxes.right[i] = right;
  boxes.first[i] = first;
  boxes.end[i] = end;
}

function firstEndingAfter(view: View, row: number, x: number): number {
  let low = view.rowStart[row]!;
  let high = view.rowStart[row + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (view.x[middle]! + view.total[middle]! > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

function firstStartingAt(view: View, from: number, end: number, x: number): number {
  let low = from;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (view.x[middle]! >= x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The node of a row at an amount; −1 where there is none. */
export function nodeAt(view: View, row: number, x: number): number {
  if (row < 0 || row >= rowCount(view)) return -1;
  const v = firstEndingAfter(view, row, x);
  return v < view.rowStart[row + 1]! && view.x[v]! <= x ? v : -1;
}

export function rowCount(view: View): number {
  return view.rowStart.length - 1;
}

export function rowOf(view: View, v: number): number {
  let low = 0;
  let high = rowCount(view);
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (view.rowStart[middle]! <= v) low = middle;
    else high = middle;
  }
  return low;
}

export function rangeOfNode(view: View, v: number): Range {
  return { from: view.x[v]!, to: view.x[v]! + view.total[v]! };
}

/** Zoom by a factor around an amount, within the whole. */
export function zoomAround(range: Range, at: number, factor: number, whole: number): Range {
  const size = Math.min(whole, Math.max(whole * 1e-9, (range.to - range.from) * factor));
  const part = (at - range.from) / (range.to - range.from);
  return within({ from: at - part * size, to: at + (1 - part) * size }, whole);
}

export function within({ from, to }: Range, whole: number): Range {
  const size = Math.min(to - from, whole);
  const start = Math.min(Math.max(0, from), whole - size);
  return { from: start, to: start + size };
}

/** The number of rows that hold something inside the range. */
export function rowsWithin(view: View, range: Range): number {
  let rows = rowCount(view);
  while (rows > 1) {
    const v = firstEndingAfter(view, rows - 1, range.from);
    if (v < view.rowStart[rows]! && view.x[v]! < range.to) break;
    rows--;
  }
  return rows;
}
