import { nodeAt, rangeOfNode, rowOf, rowsWithin, type Range } from "../../engine/layout";
import { PALETTES } from "../../ui/colors";
import { drawFlame, ROW, type Scene } from "./draw";

export interface Marks {
  hovered: number;
  selected: number;
}

/**
 * Draws at most once a frame. The bars are kept as a bitmap, and so are those of the whole view,
 * the dearest of all; what is hovered and selected is drawn over them.
 */
export class FlameCanvas {
  private scene: Scene | null = null;
  private marks: Marks = { hovered: -1, selected: -1 };
  private requested = 0;
  private bars: { scene: Scene; bitmap: OffscreenCanvas } | null = null;
  private whole: { scene: Scene; bitmap: OffscreenCanvas } | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  show(scene: Scene, marks: Marks): void {
    this.scene = scene;
    this.marks = marks;
    this.requested ||= requestAnimationFrame(() => {
      this.requested = 0;
      this.draw();
    });
  }

  stop(): void {
    cancelAnimationFrame(this.requested);
  }

  private draw(): void {
    const { scene, canvas } = this;
    if (scene === null || scene.width <= 0 || scene.height <= 0) return;
    resize(canvas, scene);
    const context = canvas.getContext("2d")!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.barsOf(scene), 0, 0);
    context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
    const { ink } = PALETTES[scene.theme];
    outline(context, scene, this.marks.hovered, ink, 1);
    outline(context, scene, this.marks.selected, ink, 2.5);
    canvas.dispatchEvent(new Event("drawn"));
  }

  private barsOf(scene: Scene): OffscreenCanvas {
    for (const kept of [this.bars, this.whole]) {
      if (kept !== null && sameBars(kept.scene, scene)) return kept.bitmap;
    }
    const isWhole = scene.range.from === 0 && scene.range.to === scene.view.whole;
    const slot = isWhole ? "whole" : "bars";
    const bitmap = this[slot]?.bitmap ?? new OffscreenCanvas(1, 1);
    resize(bitmap, scene);
    drawFlame(bitmap.getContext("2d", { alpha: false })!, scene);
    this[slot] = { scene, bitmap };
    return bitmap;
  }
}

function resize(canvas: HTMLCanvasElement | OffscreenCanvas, { width, height, ratio }: Scene): void {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
}

function sameBars(a: Scene, b: Scene): boolean {
  const sameRange = a.range.from === b.range.from && a.range.to === b.range.to;
  const keys = ["view", "theme", "matched", "width", "height", "scroll", "ratio"] as const;
  return sameRange && keys.every((key) => a[key] === b[key]);
}

function outline(context: CanvasRenderingContext2D, scene: Scene, v: number, color: string, line: number): void {
  if (v < 0) return;
  const { view, range, width, scroll } = scene;
  const scale = width / (range.to - range.from);
  const left = Math.max(0, (view.x[v]! - range.from) * scale);
  const right = Math.min(width, (view.x[v]! + view.total[v]! - range.from) * scale);
  if (right < 0 || left > width) return;
  context.strokeStyle = color;
  context.lineWidth = line;
  const inset = line / 2;
  const y = rowOf(view, v) * ROW - scroll;
  context.strokeRect(left + inset, y + inset, Math.max(right - left - 1 - line, 1), ROW - 1 - line);
}

export function hit(scene: Scene, x: number, y: number): number {
  const { view, range, width, scroll } = scene;
  const at = range.from + (x / width) * (range.to - range.from);
  return nodeAt(view, Math.floor((y + scroll) / ROW), at);
}

export function heightOf(scene: Pick<Scene, "view" | "range">): number {
  return rowsWithin(scene.view, scene.range) * ROW + 2;
}

export function nodeRange(scene: Pick<Scene, "view">, v: number): Range {
  return v < 0 ? { from: 0, to: scene.view.whole } : rangeOfNode(scene.view, v);
}
