import { boxesFor, layoutRow, type Boxes, type Range } from "../../engine/layout";
import type { View } from "../../engine/view";
import { layerFill, PALETTES, type Theme } from "../../ui/colors";
import type { FrameNames } from "../../ui/names";

export const ROW = 20;
const TEXT_FROM = 30;
const PADDING = 5;

export interface Scene {
  view: View;
  range: Range;
  layers: readonly string[];
  names: FrameNames;
  theme: Theme;
  /** Flags of nodes that match the search; null without one. */
  matched: Uint8Array | null;
  width: number;
  height: number;
  scroll: number;
  ratio: number;
}

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draws the rows that can be seen, one fill for each colour. */
export function drawFlame(context: Context, scene: Scene): void {
  const { view, width, height, scroll, ratio, theme } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = PALETTES[theme].background;
  context.fillRect(0, 0, width, height);
  const boxes = boxesFor(width);
  const paths = new Paths(scene.layers.length);
  const texts: Text[] = [];
  const rows = view.rowStart.length - 1;
  for (let row = Math.max(0, Math.floor(scroll / ROW)); row < rows; row++) {
    const y = row * ROW - scroll;
    if (y > height) break;
    layoutRow(view, row, scene.range, width, boxes);
    addRow(scene, boxes, y, paths, texts);
  }
  paint(context, scene, paths);
  write(context, scene, texts);
}

interface Text {
  x: number;
  y: number;
  width: number;
  v: number;
  dim: boolean;
}

class Paths {
  readonly plain: Path2D[];
  readonly dimmed: Path2D[];
  readonly outline = new Path2D();
  readonly marks = new Path2D();

  constructor(layers: number) {
    this.plain = Array.from({ length: layers }, () => new Path2D());
    this.dimmed = Array.from({ length: layers }, () => new Path2D());
  }
}

function addRow(scene: Scene, boxes: Boxes, y: number, paths: Paths, texts: Text[]): void {
  const { view, matched } = scene;
  for (let i = 0; i < boxes.size; i++) {
    const left = boxes.left[i]!;
    const width = boxes.right[i]! - left;
    const v = boxes.first[i]!;
    const gap = width >= 3 ? 1 : 0;
    const dim = matched !== null && !anyMatch(matched, v, boxes.end[i]!);
    const path = (dim ? paths.dimmed : paths.plain)[view.layer[v]!];
    path?.rect(left, y, Math.max(width - gap, 0.5), ROW - 1);
    if (width >= 6) paths.outline.rect(left + 0.5, y + 0.5, width - 2, ROW - 2);
    if (matched !== null && !dim && width >= 3) paths.marks.rect(left, y + ROW - 4, width - gap, 3);
    if (width >= TEXT_FROM) texts.push({ x: left, y, width: width - gap, v, dim });
  }
}

function anyMatch(matched: Uint8Array, first: number, end: number): boolean {
  for (let v = first; v < end; v++) if (matched[v] === 1) return true;
  return false;
}

function paint(context: Context, scene: Scene, paths: Paths): void {
  const palette = PALETTES[scene.theme];
  scene.layers.forEach((layer, i) => {
    context.fillStyle = layer === "idle" ? hatch(context, scene.theme) : layerFill(layer, scene.theme);
    context.globalAlpha = 1;
    context.fill(paths.plain[i]!);
    context.globalAlpha = 0.22;
    context.fill(paths.dimmed[i]!);
  });
  context.globalAlpha = scene.matched === null ? 0.55 : 0.25;
  context.lineWidth = 1;
  context.strokeStyle = palette.border;
  context.stroke(paths.outline);
  context.globalAlpha = 1;
  context.fillStyle = palette.match;
  context.fill(paths.marks);
}

const hatches = new Map<Theme, CanvasPattern>();

function hatch(context: Context, theme: Theme): CanvasPattern {
  const known = hatches.get(theme);
  if (known !== undefined) return known;
  const tile = new OffscreenCanvas(8, 8);
  const draw = tile.getContext("2d")!;
  draw.fillStyle = layerFill("idle", theme);
  draw.fillRect(0, 0, 8, 8);
  draw.strokeStyle = PALETTES[theme].border;
  draw.globalAlpha = 0.6;
  for (const shift of [-8, 0, 8]) {
    draw.moveTo(shift, 8);
    draw.lineTo(shift + 8, 0);
  }
  draw.stroke();
  const pattern = context.createPattern(tile, "repeat")!;
  hatches.set(theme, pattern);
  return pattern;
}

function write(context: Context, scene: Scene, texts: Text[]): void {
  const palette = PALETTES[scene.theme];
  const idle = scene.layers.indexOf("idle");
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const { x, y, width, v, dim } of texts) {
    const layer = scene.view.layer[v]!;
    context.fillStyle = dim ? palette.muted : layer === idle ? palette.idleInk : palette.barInk;
    const text = fit(context, scene, scene.view.frame[v]!, width - 2 * PADDING);
    if (text !== "") context.fillText(text, x + PADDING, y + ROW / 2);
  }
}

/** The longest form of a label that fits: with its place, without, then the tail of the name. */
function fit(context: Context, scene: Scene, frame: number, width: number): string {
  const { prefix, name, place } = scene.names.info(frame);
  const short = prefix === "" ? name : `${prefix} ${name}`;
  const full = place === "" ? short : `${short}  ${place}`;
  if (measure(context, full) <= width) return full;
  if (measure(context, short) <= width) return short;
  const tail = fitTail(context, name, width - measure(context, prefix === "" ? "…" : `${prefix} …`));
  if (tail !== "") return prefix === "" ? `…${tail}` : `${prefix} …${tail}`;
  return measure(context, prefix) <= width ? prefix : "";
}

function fitTail(context: Context, name: string, width: number): string {
  if (width <= 0) return "";
  let keep = Math.floor((name.length * width) / measure(context, name));
  while (keep > 0 && measure(context, name.slice(-keep)) > width) keep--;
  return keep > 1 ? name.slice(-keep) : "";
}

const widths = new Map<string, number>();

/** Measuring is the dearest part of a frame, and labels repeat. */
function measure(context: Context, text: string): number {
  const known = widths.get(text);
  if (known !== undefined) return known;
  if (widths.size > 50_000) widths.clear();
  const width = context.measureText(text).width;
  widths.set(text, width);
  return width;
}

/** The whole tree, a few pixels for each row. */
export function drawMinimap(context: Context, scene: Scene): void {
  const { view, width, height, ratio, theme, layers } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = PALETTES[theme].background;
  context.fillRect(0, 0, width, height);
  const rows = view.rowStart.length - 1;
  const step = Math.min(6, height / Math.max(1, rows));
  const boxes = boxesFor(width);
  for (let row = 0; row < rows; row++) {
    layoutRow(view, row, { from: 0, to: view.whole }, width, boxes);
    for (let i = 0; i < boxes.size; i++) {
      const layer = layers[view.layer[boxes.first[i]!]!]!;
      context.fillStyle = layerFill(layer, theme);
      context.fillRect(boxes.left[i]!, row * step, boxes.right[i]! - boxes.left[i]!, step);
    }
  }
}
