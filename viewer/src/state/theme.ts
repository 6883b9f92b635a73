import { computed, effect, signal } from "@preact/signals";
import type { Theme } from "../ui/colors";
import { host } from "./app";

/** The system's theme, unless the user chose one. */

const KEY = "pellucid-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", (event) => (systemDark.value = event.matches));

const chosen = signal(host.read(KEY));

export const theme = computed<Theme>(() => {
  if (chosen.value === "light" || chosen.value === "dark") return chosen.value;
  return systemDark.value ? "dark" : "light";
});

export function toggleTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  host.write(KEY, chosen.value);
}

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});
