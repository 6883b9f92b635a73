import { type Row, ordersBySelf } from "../../engine/tables";
import type { Grouping } from "../../engine/groups";

export type SortKey = "name" | "self" | "total" | "backward" | "calls";
export interface Sort {
  key: SortKey;
  down: boolean;
}

export const TITLES: Record<Grouping, string> = {
  operator: "Operators",
  module: "Modules",
  kernel: "Kernels",
  line: "Lines",
  function: "Functions",
  thread: "Threads",
};

export const EMPTY: Record<Grouping, string> = {
  operator: "No operators were recorded under these filters.",
  module: "No modules were recorded: nothing ran inside an nn.Module.",
  kernel: "No kernels: torch.compile was not used, or nothing compiled ran under these filters.",
  line: "No Python lines were recorded under these filters.",
  function: "No Python functions were recorded under these filters.",
  thread: "No threads were recorded.",
};

export function defaultSort(by: Grouping): Sort {
  return { key: ordersBySelf(by) ? "self" : "total", down: true };
}

export function sortRows(rows: readonly Row[], { key, down }: Sort): Row[] {
  const sign = down ? -1 : 1;
  if (key === "name") return [...rows].sort((a, b) => sign * a.name.localeCompare(b.name, "en"));
  return [...rows].sort((a, b) => sign * ((a[key] ?? -1) - (b[key] ?? -1)));
}

/** In the link: `module.self-`; sorts that are the default are left out. */
export function encodeTable(by: Grouping, sort: Sort): string {
  const usual = defaultSort(by);
  const same = usual.key === sort.key && usual.down === sort.down;
  return same ? (by === "operator" ? "" : by) : `${by}.${sort.key}${sort.down ? "-" : "+"}`;
}

export function decodeTable(text: string): { by: Grouping; sort: Sort } {
  const found = /^(\w+)(?:\.(name|self|total|backward|calls)([+-]))?$/.exec(text);
  const by = (found && found[1]! in TITLES ? found[1] : "operator") as Grouping;
  if (!found?.[2]) return { by, sort: defaultSort(by) };
  return { by, sort: { key: found[2] as SortKey, down: found[3] === "-" } };
}
