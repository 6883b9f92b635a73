/** Fills of layers; every bar carries dark text and a prefix, so colour is never the only sign. */

export type Theme = "light" | "dark";

const LAYERS: Record<string, { light: string; dark: string; label: string }> = {
  python: { light: "#529fed", dark: "#619ff9", label: "your Python" },
  framework: { light: "#9ea4ac", dark: "#a4a6b0", label: "framework" },
  operator: { light: "#e7a456", dark: "#e19435", label: "operators" },
  kernel: { light: "#9ff196", dark: "#42926e", label: "compiled kernels" },
  native: { light: "#c6c0aa", dark: "#dcc2a5", label: "native" },
  data: { light: "#5dcaf0", dark: "#7bd3f5", label: "data loading" },
  compile: { light: "#a777b0", dark: "#9073b3", label: "compiling" },
  device: { light: "#dc6f59", dark: "#dd5530", label: "device" },
  idle: { light: "#e4e7eb", dark: "#3d434b", label: "waiting" },
};

export function layerFill(layer: string, theme: Theme): string {
  return (LAYERS[layer] ?? LAYERS["framework"]!)[theme];
}

export function layerLabel(layer: string): string {
  return LAYERS[layer]?.label ?? layer;
}

export interface Palette {
  background: string;
  ink: string;
  barInk: string;
  idleInk: string;
  muted: string;
  border: string;
  match: string;
  small: string;
}

export const PALETTES: Record<Theme, Palette> = {
  light: {
    background: "#ffffff",
    ink: "#14181d",
    barInk: "#14181d",
    idleInk: "#14181d",
    muted: "#57606a",
    border: "#8a929b",
    match: "#ffd54a",
    small: "#c9ced5",
  },
  dark: {
    background: "#14171b",
    ink: "#e6e9ed",
    barInk: "#0b0d10",
    idleInk: "#ffffff",
    muted: "#9aa4af",
    border: "#69727d",
    match: "#ffd54a",
    small: "#555c66",
  },
};
