import { batch, effect, signal } from "@preact/signals";
import type { View } from "../engine/view";
import * as app from "./app";
import { decodeHash, encodeHash, shortHash, type HashState } from "./hash";
import { decodePath, encodePath, frameHash } from "./paths";

/** The state in the address: going back undoes one step, a copied link shows the same. */

const PANES: readonly string[] = ["summary", "flame", "tables", "source", "compiler"];

/** What a link says of nodes, until the view is there in which to look for them. */
const waiting = signal<{ selection: string; zoom: string } | null>(null);

export function applyLink(hash: string): void {
  const state = decodeHash(hash);
  const { threads } = app.session.value!;
  const metrics = app.meta.value!.metrics;
  batch(() => {
    if (PANES.includes(state.pane)) app.pane.value = state.pane as app.PaneId;
    else app.pane.value = "summary";
    const metric = metrics.findIndex(({ name, additive }) => additive && name === state.metric);
    if (metric >= 0) app.metric.value = metric;
    app.phase.value = state.phase;
    app.threads.value = knownThreads(state.threads, threads);
    app.fold.value = state.fold;
    app.query.value = state.query;
    app.extra.value = state.extra;
    waiting.value = { selection: state.selection, zoom: state.zoom };
  });
}

function knownThreads(hashes: string[] | null, labels: string[]): number[] | null {
  if (hashes === null) return null;
  const found = labels.flatMap((label, i) => (hashes.includes(shortHash(label)) ? [i] : []));
  return found.length > 0 ? found : null;
}

export function followHistory(): void {
  let written = location.hash;
  let step: string | null = null;
  const follow = () => {
    if (location.hash === written) return;
    written = location.hash;
    applyLink(written);
  };
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  effect(() => {
    const view = app.view.value;
    if (view === null || app.viewOf.value !== app.filters.value) return;
    const links = waiting.value;
    if (links !== null) {
      batch(() => {
        resolve(view, links);
        waiting.value = null;
      });
    }
    const state = currentState(view);
    const hash = encodeHash(state);
    const nextStep = [state.pane, state.selection, state.zoom].join(" ");
    if (hash !== written) {
      const push = links === null && step !== null && step !== nextStep;
      if (push) app.host.pushHash(hash);
      else app.host.replaceHash(hash);
    }
    written = hash;
    step = nextStep;
  });
}

function currentState(view: View): HashState {
  const { threads } = app.session.value!;
  return {
    pane: app.pane.value,
    metric: app.meta.value!.metrics[app.metric.value]?.name ?? "",
    phase: app.phase.value,
    threads: app.threads.value?.map((i) => shortHash(threads[i]!)) ?? null,
    fold: app.fold.value,
    query: app.query.value,
    selection: encodeSelection(view, app.selection.value),
    zoom: encodeZoom(view, app.zoom.value),
    extra: app.extra.value,
  };
}

function encodeSelection(view: View, selection: app.Selection | null): string {
  const { profile } = app.session.value!;
  switch (selection?.kind) {
    case "node": {
      const v = view.shownAt[selection.node] ?? -1;
      return v < 0 ? "" : `n:${encodePath(profile, view, v)}`;
    }
    case "frame":
      return `f:${frameHash(profile, selection.frame)}`;
    case "line":
      return `l:${shownPath(selection.file)}:${selection.line}`;
    case "artifact":
      return `a:${selection.artifact}:${selection.line}`;
    default:
      return "";
  }
}

function shownPath(file: string): string {
  return app.meta.value!.sources.find(({ path }) => path === file)?.shown ?? file;
}

function encodeZoom(view: View, zoom: app.Zoom | null): string {
  if (zoom === null) return "";
  if ("from" in zoom) return `${zoom.from.toFixed(6)}-${zoom.to.toFixed(6)}`;
  const v = view.shownAt[zoom.node] ?? -1;
  return v < 0 ? "" : encodePath(app.session.value!.profile, view, v);
}

function resolve(view: View, links: { selection: string; zoom: string }): void {
  app.selection.value = decodeSelection(view, links.selection);
  app.zoom.value = decodeZoom(view, links.zoom);
}

function decodeSelection(view: View, text: string): app.Selection | null {
  const { profile } = app.session.value!;
  const rest = text.slice(2);
  const [place, line] = splitLine(rest);
  if (text.startsWith("n:")) return nodeAt(view, rest);
  if (text.startsWith("f:")) {
    const frame = profile.frames.kind.findIndex((_, i) => frameHash(profile, i) === rest);
    return frame < 0 ? null : { kind: "frame", frame };
  }
  if (text.startsWith("l:")) {
    const file = app.meta.value!.sources.find(({ shown }) => shown === place)?.path ?? place;
    return { kind: "line", file, line };
  }
  if (text.startsWith("a:")) return { kind: "artifact", artifact: Number(place), line };
  return null;
}

function splitLine(text: string): [string, number] {
  const colon = text.lastIndexOf(":");
  return [text.slice(0, colon), Number(text.slice(colon + 1)) || 1];
}

function nodeAt(view: View, path: string): app.Selection | null {
  const { v, whole } = decodePath(app.session.value!.profile, view, path);
  if (!whole) app.notice.value = "What the link points to is not in this profile; this is the nearest there is.";
  return v < 0 ? null : { kind: "node", node: view.node[v]! };
}

function decodeZoom(view: View, text: string): app.Zoom | null {
  const range = /^(0?\.?\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  if (range) return { from: Number(range[1]), to: Number(range[2]) };
  if (text === "") return null;
  const { v } = decodePath(app.session.value!.profile, view, text);
  return v < 0 ? null : { node: view.node[v]! };
}
