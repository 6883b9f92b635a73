import type { Phase } from "../engine/model";

/** The state that a link carries, as texts; what is at its default is left out. */
export interface HashState {
  pane: string;
  metric: string;
  phase: Phase;
  /** Hashes of thread labels; null means all. */
  threads: string[] | null;
  fold: boolean;
  query: string;
  /** `n:` path, `f:` frame, `l:` file:line, `a:` artifact:line; empty for none. */
  selection: string;
  /** A path, or `from-to` in permille of the whole; empty for all. */
  zoom: string;
  /** What a pane keeps for itself. */
  extra: string;
}

export function encodeHash(state: Partial<HashState>): string {
  const parts: [string, string][] = [
    ["v", state.pane ?? ""],
    ["m", state.metric ?? ""],
    ["p", state.phase === "all" ? "" : (state.phase ?? "")],
    ["t", state.threads?.join(".") ?? ""],
    ["f", state.fold === false ? "0" : ""],
    ["q", state.query ?? ""],
    ["sel", state.selection ?? ""],
    ["z", state.zoom ?? ""],
    ["x", state.extra ?? ""],
  ];
  const shown = parts.filter(([, value]) => value !== "");
  return `#${shown.map(([key, value]) => `${key}=${encode(value)}`).join("&")}`;
}

export function decodeHash(hash: string): HashState {
  const read = new URLSearchParams(hash.replace(/^#/, ""));
  const phase = read.get("p");
  return {
    pane: read.get("v") ?? "",
    metric: read.get("m") ?? "",
    phase: phase === "forward" || phase === "backward" ? phase : "all",
    threads: read.get("t")?.split(".") ?? null,
    fold: read.get("f") !== "0",
    query: read.get("q") ?? "",
    selection: read.get("sel") ?? "",
    zoom: read.get("z") ?? "",
    extra: read.get("x") ?? "",
  };
}

/** Colons and slashes may stand in a hash, and read better. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2F/g, "/");
}

/** FNV-1a in 20 bits as four letters: enough to tell siblings apart, short in a link. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return ((hash ^ (hash >>> 12)) & 0xfffff).toString(36).padStart(4, "0");
}
