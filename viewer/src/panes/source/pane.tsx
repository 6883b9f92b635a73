import type { Pane } from "../pane";

export const source: Pane = {
  id: "source",
  title: "Source",
  component: () => <p class="note">This build has no source pane yet.</p>,
  emptyReason: (meta) =>
    meta.sources.length === 0
      ? "This report holds no sources: it was written with --source none, or none could be read."
      : null,
};
