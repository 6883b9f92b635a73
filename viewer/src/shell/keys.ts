import { PANES } from "../panes";
import * as app from "../state/app";
import { generatedFor } from "../state/counterpart";
import { helpOpen } from "./Help";

/** What `?` lists; keys of panes themselves are handled where they have the focus. */
export const KEY_HELP: readonly [string, string][] = [
  ["1 – 5", "panes"],
  ["/", "search; /…/ is a regular expression"],
  ["f", "fold internals, or show them"],
  ["s", "source of the selection"],
  ["g", "generated code of the selection"],
  ["Enter", "zoom into the selection (flame)"],
  ["← ↑ ↓ →", "walk the tree (flame), the rows (tables)"],
  ["Ctrl + wheel", "zoom at the pointer (flame)"],
  ["Esc", "clear search, then zoom, then selection"],
  ["?", "this list"],
];

export function handleKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") return escape();
  if (isTyping(event.target) || helpOpen.value) return;
  const action = ACTIONS[event.key] ?? paneAction(event.key);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function escape(): void {
  if (helpOpen.value) helpOpen.value = false;
  else app.clear();
  if (document.activeElement?.id === "search") (document.activeElement as HTMLElement).blur();
}

const ACTIONS: Record<string, () => void> = {
  "/": () => document.querySelector<HTMLInputElement>("#search")?.select(),
  f: () => (app.fold.value = !app.fold.value),
  s: () => app.go("source"),
  g: () => void showGenerated(),
  "?": () => (helpOpen.value = true),
};

function paneAction(key: string): (() => void) | undefined {
  const found = PANES[Number(key) - 1];
  return found && (() => (app.pane.value = found.id));
}

async function showGenerated(): Promise<void> {
  const [first] = await generatedFor();
  if (first === undefined) app.notice.value = "No generated code is known for the selection.";
  else app.go("source", { kind: "artifact", ...first });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || (target.matches("input, select, textarea") && !target.matches("[type=checkbox]"));
}
