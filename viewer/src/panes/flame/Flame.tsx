import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { rowOf, within, zoomAround, type Range } from "../../engine/layout";
import { pathTo, type View } from "../../engine/view";
import * as app from "../../state/app";
import { theme } from "../../state/theme";
import { amount, percent } from "../../ui/format";
import type { Pane } from "../pane";
import { FlameCanvas, heightOf, hit } from "./canvas";
import { ROW, type Scene } from "./draw";
import { Legend } from "./Legend";
import { Minimap } from "./Minimap";
import { Tooltip, type Hover } from "./Tooltip";
import { neighbour } from "./walk";

export const flame: Pane = { id: "flame", title: "Flame", component: Flame };

function Flame() {
  const view = app.view.value!;
  if (view.size === 0)
    return <p class="note">Nothing was measured here under these filters.</p>;
  return <FlameView view={view} />;
}

function FlameView({ view }: { view: View }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<FlameCanvas | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [scroll, setScroll] = useState(0);
  const [hover, setHover] = useState<Hover | null>(null);
  const range = rangeOf(view, app.zoom.value);
  const selected = app.selectedInView.value;
  const scene: Scene = {
    view,
    range,
    scroll,
    ...size,
    layers: app.meta.value!.layers,
    names: app.session.value!.names,
    theme: theme.value,
    matched: app.matches.value?.of ?? null,
    ratio: devicePixelRatio,
  };

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      setSize({ width: box.current!.clientWidth, height: box.current!.clientHeight });
    });
    observer.observe(box.current!);
    painter.current = new FlameCanvas(canvas.current!);
    return () => {
      observer.disconnect();
      painter.current?.stop();
    };
  }, []);
  useLayoutEffect(() => painter.current?.show(scene, { hovered: hover?.v ?? -1, selected }));
  useEffect(() => {
    if (selected >= 0) reveal(box.current!, rowOf(view, selected) * ROW);
  }, [selected, view]);
  useWheelZoom(box, scene);

  const at = (event: MouseEvent) => hit(scene, event.offsetX, event.offsetY);
  return (
    <>
      <Breadcrumbs view={view} />
      <div
        ref={box}
        class="flame"
        onScroll={(event) => {
          setScroll(event.currentTarget.scrollTop);
          setHover(null);
        }}
      >
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label="Flame graph: arrows walk the tree, Enter zooms in, Escape out"
          aria-describedby="flame-spoken"
          style={{ width: `${size.width}px`, height: `${size.height}px` }}
          onMouseMove={(event) => {
            const v = at(event);
            setHover(v < 0 ? null : { v, x: event.clientX, y: event.clientY });
          }}
          onMouseLeave={() => setHover(null)}
          onClick={(event) => clicked(view, at(event), selected)}
          onDblClick={(event) => zoomTo(view, at(event))}
          onKeyDown={(event) => keyPressed(event, view, selected)}
        />
        <div class="flame-height" style={{ height: `${Math.max(0, heightOf(scene) - size.height)}px` }} />
      </div>
      <Minimap scene={scene} />
      <Legend />
      <p id="flame-spoken" class="spoken" role="status" aria-live="polite">
        {selected >= 0 ? spoken(view, selected) : ""}
      </p>
      {hover !== null && hover.v < view.size && <Tooltip view={view} hover={hover} />}
    </>
  );
}

/** What is zoomed to, in amounts of this view. */
function rangeOf(view: View, zoom: app.Zoom | null): Range {
  const all = { from: 0, to: view.whole };
  if (zoom === null) return all;
  if ("from" in zoom) return within({ from: zoom.from * view.whole, to: zoom.to * view.whole }, view.whole);
  const v = view.shownAt[zoom.node] ?? -1;
  return v < 0 ? all : { from: view.x[v]!, to: view.x[v]! + view.total[v]! };
}

function zoomTo(view: View, v: number): void {
  app.zoom.value = v < 0 || view.parent[v]! < 0 && view.total[v] === view.whole ? null : { node: view.node[v]! };
}

/** A first click selects, one on what is selected zooms in. */
function clicked(view: View, v: number, selected: number): void {
  if (v < 0) return;
  if (v === selected) zoomTo(view, v);
  else app.selectShown(v);
}

function keyPressed(event: KeyboardEvent, view: View, selected: number): void {
  if (event.key === "Enter") zoomTo(view, selected);
  else {
    const next = neighbour(view, selected, event.key);
    if (next === null) return;
    app.selectShown(next);
    keepInRange(view, next);
  }
  event.preventDefault();
}

/** Walking out of what is zoomed to zooms out just as far. */
function keepInRange(view: View, v: number): void {
  const range = rangeOf(view, app.zoom.value);
  const middle = view.x[v]! + view.total[v]! / 2;
  if (middle >= range.from && middle <= range.to) return;
  zoomTo(view, view.parent[v]!);
}

function useWheelZoom(box: { current: HTMLElement | null }, scene: Scene): void {
  const latest = useRef(scene);
  latest.current = scene;
  useEffect(() => {
    const element = box.current!;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { view, range, width } = latest.current;
      const x = event.clientX - element.getBoundingClientRect().left;
      const at = range.from + (x / width) * (range.to - range.from);
      const next = zoomAround(range, at, Math.exp(event.deltaY / 300), view.whole);
      const all = next.to - next.from >= view.whole * 0.9999;
      app.zoom.value = all ? null : { from: next.from / view.whole, to: next.to / view.whole };
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);
}

function reveal(box: HTMLElement, y: number): void {
  if (y < box.scrollTop) box.scrollTop = y;
  else if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
}

function spoken(view: View, v: number): string {
  const total = amount(view.total[v]!, app.unit.value);
  return `${app.session.value!.names.label(view.frame[v]!)}, ${total}, ${percent(view.total[v]! / view.whole)}`;
}

function Breadcrumbs({ view }: { view: View }) {
  const zoom = app.zoom.value;
  const { names } = app.session.value!;
  const v = zoom !== null && "node" in zoom ? (view.shownAt[zoom.node] ?? -1) : -1;
  return (
    <nav class="crumbs" aria-label="Zoomed to">
      <button class="link" onClick={() => (app.zoom.value = null)} disabled={zoom === null}>
        all
      </button>
      {pathTo(view, v).map((at) => (
        <button key={at} class="link" onClick={() => zoomTo(view, at)} title={names.label(view.frame[at]!)}>
          {names.info(view.frame[at]!).name}
        </button>
      ))}
      {zoom !== null && "from" in zoom && <span>{percent(zoom.to - zoom.from)} of the width</span>}
      {zoom === null && <span class="hint">click selects · click again or Enter zooms · Ctrl + wheel</span>}
    </nav>
  );
}
