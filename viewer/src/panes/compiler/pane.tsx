import type { Pane } from "../pane";

export const compiler: Pane = {
  id: "compiler",
  title: "Compiler",
  component: () => <p class="note">This build has no compiler pane yet.</p>,
  emptyReason: (meta) =>
    meta.compile === null ? "Nothing was compiled in this run: torch.compile was not used." : null,
};
