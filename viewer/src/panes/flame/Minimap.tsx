import { useEffect, useRef } from "preact/hooks";
import { within } from "../../engine/layout";
import * as app from "../../state/app";
import { drawMinimap, type Scene } from "./draw";

const HEIGHT = 42;

/** The whole, always; drag the window over it. */
export function Minimap({ scene }: { scene: Scene }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { view, range, width, theme, ratio } = scene;
  useEffect(() => {
    if (width <= 0) return;
    canvas.current!.width = Math.round(width * ratio);
    canvas.current!.height = Math.round(HEIGHT * ratio);
    drawMinimap(canvas.current!.getContext("2d", { alpha: false })!, { ...scene, height: HEIGHT });
  }, [view, width, theme, ratio]);

  const moveTo = (event: PointerEvent) => {
    if (event.buttons !== 1 || app.zoom.value === null) return;
    const element = event.currentTarget as HTMLElement;
    if (event.type === "pointerdown") element.setPointerCapture(event.pointerId);
    const at = ((event.clientX - element.getBoundingClientRect().left) / width) * view.whole;
    const half = (range.to - range.from) / 2;
    const next = within({ from: at - half, to: at + half }, view.whole);
    app.zoom.value = { from: next.from / view.whole, to: next.to / view.whole };
  };
  const left = (range.from / view.whole) * width;
  const shown = ((range.to - range.from) / view.whole) * width;
  return (
    <div class="minimap" aria-hidden="true" onPointerDown={moveTo} onPointerMove={moveTo}>
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${HEIGHT}px` }} />
      <div class="shade" style={{ left: "0", width: `${left}px` }} />
      <div class="shade" style={{ left: `${left + shown}px`, right: "0" }} />
      <div class="window" style={{ left: `${left}px`, width: `${Math.max(3, shown)}px` }} />
    </div>
  );
}
