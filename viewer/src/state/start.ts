import { effect } from "@preact/signals";
import { openProfile, readMeta } from "../data/profile";
import type { BlockSource } from "../data/source";
import { EngineClient, openEngine } from "../engine/client";
import { FrameNames } from "../ui/names";
import * as app from "./app";
import { applyLink, followHistory } from "./link";
import { matchLabels } from "./matching";

/** Open the profile: the header as soon as it is known, the rest when it is there. */
export async function start(source: BlockSource): Promise<void> {
  try {
    const meta = await readMeta(source);
    app.metric.value = defaultMetric(meta.metrics);
    app.meta.value = meta;
    const engine = new EngineClient();
    const [profile, opened] = await Promise.all([
      openProfile(source, meta),
      openEngine(engine, source, meta),
    ]);
    const names = new FrameNames(profile);
    app.session.value = { profile, engine, names, threads: opened.threads };
    applyLink(location.hash);
    keepView();
    keepMatches();
    followHistory();
  } catch (error) {
    app.failure.value = error instanceof Error ? error.message : String(error);
  }
}

function defaultMetric(metrics: readonly { name: string; additive: boolean }[]): number {
  const time = metrics.findIndex((metric) => metric.name === "time" && metric.additive);
  return Math.max(0, time >= 0 ? time : metrics.findIndex((metric) => metric.additive));
}

/** Ask for the tree whenever the filters change; only the newest answer counts. */
function keepView(): void {
  effect(() => {
    const filters = app.filters.value;
    const { engine } = app.session.value!;
    engine.call("view", [filters]).then(
      (view) => {
        if (app.filters.peek() !== filters) return;
        app.view.value = view;
        app.viewOf.value = filters;
      },
      (error: Error) => (app.failure.value = error.message),
    );
  });
}

function keepMatches(): void {
  const labels = app.session.value!.names.searched();
  effect(() => {
    const typed = app.query.value;
    const current = () => app.query.peek() === typed;
    matchLabels(typed, labels).then(
      (found) => {
        if (!current()) return;
        app.matchedFrames.value = found;
        app.searchError.value = null;
      },
      (error: Error) => {
        if (current()) app.searchError.value = error.message;
      },
    );
  });
}
