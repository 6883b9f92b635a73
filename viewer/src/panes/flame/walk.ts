import { rowOf } from "../../engine/layout";
import type { View } from "../../engine/view";

/** Where an arrow key leads from a node (−1: from nowhere); null for other keys and dead ends. */
export function neighbour(view: View, v: number, key: string): number | null {
  if (!/^Arrow|^Home$/.test(key)) return null;
  if (v < 0 || key === "Home") return 0;
  if (key === "ArrowUp") return view.parent[v]! < 0 ? null : view.parent[v]!;
  if (key === "ArrowDown") return view.firstChild[v]! < view.firstChild[v + 1]! ? view.firstChild[v]! : null;
  const row = rowOf(view, v);
  const next = key === "ArrowLeft" ? v - 1 : v + 1;
  return next >= view.rowStart[row]! && next < view.rowStart[row + 1]! ? next : null;
}
