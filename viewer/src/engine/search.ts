import type { View } from "./view";

/** What a user typed: a plain text, or `/regular expression/`. */
export type Query = { kind: "text"; text: string } | { kind: "regex"; source: string };

export function parseQuery(typed: string): Query | null {
  const text = typed.trim();
  if (text === "" || text === "/") return null;
  const regex = /^\/(.+)\/$/.exec(text);
  if (regex) return { kind: "regex", source: regex[1]! };
  return { kind: "text", text: text.toLowerCase() };
}

/** One flag for each of the names; fails for a regular expression that is none. */
export function matchNames(query: Query, names: readonly string[]): Uint8Array {
  if (query.kind === "text")
    return Uint8Array.from(names, (name) => Number(name.toLowerCase().includes(query.text)));
  const regex = new RegExp(query.source, "i");
  return Uint8Array.from(names, (name) => Number(regex.test(name)));
}

export interface Matches {
  /** Flags of shown nodes. */
  of: Uint8Array;
  names: number;
  share: number;
}

/** What matches in a view; what is below a match counts with it, and only once. */
export function matchView(view: View, byFrame: Uint8Array): Matches {
  const of = new Uint8Array(view.size);
  const covered = new Uint8Array(view.size);
  const frames = new Set<number>();
  let sum = 0;
  for (let v = 0; v < view.size; v++) {
    const parent = view.parent[v]!;
    const above = parent >= 0 && covered[parent] === 1;
    of[v] = byFrame[view.frame[v]!]!;
    covered[v] = Number(above || of[v] === 1);
    if (of[v] === 1) frames.add(view.frame[v]!);
    if (of[v] === 1 && !above) sum += view.total[v]!;
  }
  return { of, names: frames.size, share: view.whole > 0 ? sum / view.whole : 0 };
}
