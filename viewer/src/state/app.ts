import { batch, computed, signal } from "@preact/signals";
import type { Meta } from "../data/meta";
import type { Profile } from "../data/profile";
import type { EngineClient } from "../engine/client";
import type { Filters, Phase } from "../engine/model";
import { matchView } from "../engine/search";
import type { View } from "../engine/view";
import { pageHost, type Host } from "../host";
import { FrameNames } from "../ui/names";

/** The page's state: signals that panes read, and the few functions that change them together. */

export type PaneId = "summary" | "flame" | "tables" | "source" | "compiler";

export type Selection =
  | { kind: "node"; node: number }
  | { kind: "frame"; frame: number }
  | { kind: "line"; file: string; line: number }
  | { kind: "artifact"; artifact: number; line: number };

/** A node of the profile, or a range in parts of the whole. */
export type Zoom = { node: number } | { from: number; to: number };

export interface Session {
  profile: Profile;
  engine: EngineClient;
  names: FrameNames;
  threads: string[];
}

export const host: Host = pageHost;
export const meta = signal<Meta | null>(null);
export const session = signal<Session | null>(null);
export const failure = signal<string | null>(null);
export const notice = signal<string | null>(null);

export const pane = signal<PaneId>("summary");
export const metric = signal(0);
export const phase = signal<Phase>("all");
export const threads = signal<readonly number[] | null>(null);
export const fold = signal(true);
export const query = signal("");
export const selection = signal<Selection | null>(null);
export const zoom = signal<Zoom | null>(null);
/** A text that a pane may keep in the link (sort order, open table, …). */
export const extra = signal("");

export const filters = computed<Filters>(() => ({
  metric: metric.value,
  phase: phase.value,
  threads: threads.value,
  fold: fold.value,
}));
export const unit = computed(() => meta.value?.metrics[metric.value]?.unit ?? "");
export const filtered = computed(() => phase.value !== "all" || threads.value !== null);

/** The tree under the filters; the last one stays until the next is there. */
export const view = signal<View | null>(null);
export const viewOf = signal<Filters | null>(null);

/** For each frame whether it matches the search; null without a search. */
export const matchedFrames = signal<Uint8Array | null>(null);
export const searchError = signal<string | null>(null);
export const matches = computed(() => {
  const byFrame = matchedFrames.value;
  return view.value === null || byFrame === null ? null : matchView(view.value, byFrame);
});

/** Where the selection is in the view; −1 if it is no node or is filtered away. */
export const selectedInView = computed(() => {
  const selected = selection.value;
  const shown = view.value;
  if (selected?.kind !== "node" || shown === null) return -1;
  return shown.shownAt[selected.node] ?? -1;
});

export const selectedFrame = computed<number | null>(() => {
  const selected = selection.value;
  if (selected?.kind === "frame") return selected.frame;
  const v = selectedInView.value;
  return v < 0 ? null : view.value!.frame[v]!;
});

/** The line of a source that the selection speaks of. */
export const selectedLine = computed<{ file: string; line: number } | null>(() => {
  const selected = selection.value;
  if (selected?.kind === "line") return { file: selected.file, line: selected.line };
  const frame = selectedFrame.value;
  if (frame === null || session.value === null) return null;
  const { file, line } = session.value.names.info(frame);
  return file === null || line === null ? null : { file, line };
});

export function select(next: Selection | null): void {
  selection.value = next;
}

export function selectShown(v: number): void {
  if (view.value !== null && v >= 0) select({ kind: "node", node: view.value.node[v]! });
}

export function go(to: PaneId, next?: Selection): void {
  batch(() => {
    pane.value = to;
    if (next !== undefined) selection.value = next;
  });
}

/** One step back each time: search, then zoom, then selection. */
export function clear(): void {
  if (query.value !== "") query.value = "";
  else if (zoom.value !== null) zoom.value = null;
  else selection.value = null;
}

export function resetFilters(): void {
  batch(() => {
    phase.value = "all";
    threads.value = null;
  });
}
