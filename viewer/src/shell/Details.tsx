import { pathTo, type View } from "../engine/view";
import * as app from "../state/app";
import { useEngine } from "../state/ask";
import { amount, count, exact, percent } from "../ui/format";
import { visible } from "../ui/names";

/** What is known of the selection, at the right of every pane. */
export function Details() {
  const v = app.selectedInView.value;
  const line = app.selectedLine.value;
  return (
    <aside class="details" aria-label="Details">
      {app.selection.value === null ? (
        <p class="hint">Select anything to see what it cost, who called it and where it is.</p>
      ) : v >= 0 ? (
        <NodeDetails view={app.view.value!} v={v} />
      ) : (
        <OtherDetails />
      )}
      {line !== null && <SourceLink {...line} />}
    </aside>
  );
}

function NodeDetails({ view, v }: { view: View; v: number }) {
  const info = app.session.value!.names.info(view.frame[v]!);
  const unit = app.unit.value;
  const thread = pathTo(view, v)[0]!;
  return (
    <>
      <p class="kind">{info.kind}</p>
      <h2 class="name">{info.name || "?"}</h2>
      <dl class="numbers">
        <Number label="total" value={view.total[v]!} of={view.whole} unit={unit} />
        <Number label="self" value={view.self[v]!} of={view.whole} unit={unit} />
        <div>
          <dt>of its thread</dt>
          <dd>{percent(view.total[v]! / view.total[thread]!)}</dd>
          <dd />
        </div>
        <div title={info.kind === "module" ? "Estimated from the operators inside" : undefined}>
          <dt>calls</dt>
          <dd>{view.calls[v]! > 0 ? (info.kind === "module" ? "≈ " : "") + count(view.calls[v]!) : "—"}</dd>
          <dd />
        </div>
      </dl>
      <SpreadOf v={v} />
      <CalledFrom view={view} v={v} />
    </>
  );
}

function Number(props: { label: string; value: number; of: number; unit: string }) {
  const { label, value, of, unit } = props;
  return (
    <div title={exact(value, unit)}>
      <dt>{label}</dt>
      <dd>{amount(value, unit)}</dd>
      <dd class="share">{percent(of > 0 ? value / of : null)}</dd>
    </div>
  );
}

function SpreadOf({ v }: { v: number }) {
  const spread = useEngine("spread", v, app.filters.value);
  if (spread === null) return null;
  const values: [string, number][] = [
    ["mean", spread.mean],
    ["min", spread.min],
    ["max", spread.max],
    ["deviation", spread.deviation],
  ];
  return (
    <>
      <h3>One call, with all that it calls</h3>
      <dl class="numbers">
        {values.map(([label, value]) => (
          <div key={label} title={exact(value, "ns")}>
            <dt>{label}</dt>
            <dd>{amount(value, "ns")}</dd>
            <dd />
          </div>
        ))}
      </dl>
    </>
  );
}

function CalledFrom({ view, v }: { view: View; v: number }) {
  const { names } = app.session.value!;
  const callers = pathTo(view, v).slice(0, -1).reverse();
  if (callers.length === 0) return null;
  return (
    <>
      <h3>Called from</h3>
      <ol class="callers">
        {callers.map((at) => {
          const { prefix, name, place } = names.info(view.frame[at]!);
          return (
            <li key={at}>
              <button class="link" onClick={() => app.selectShown(at)} title={`${prefix} ${name} ${place}`}>
                <span class="prefix">{prefix}</span> <span class="tail">{name}</span>
                <span class="place">{place}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function OtherDetails() {
  const selected = app.selection.value!;
  const frame = app.selectedFrame.value;
  if (selected.kind === "node")
    return <p class="hint">The selection is not part of what the filters show.</p>;
  if (frame !== null) {
    const info = app.session.value!.names.info(frame);
    return (
      <>
        <p class="kind">{info.kind}</p>
        <h2 class="name">{info.name}</h2>
      </>
    );
  }
  if (selected.kind === "artifact") {
    const artifact = app.meta.value!.artifacts.find(({ id }) => id === selected.artifact);
    return (
      <>
        <p class="kind">generated code</p>
        <h2 class="name">{visible(artifact?.name ?? "")}</h2>
        <p>line {selected.line}</p>
      </>
    );
  }
  return <p class="kind">source line</p>;
}

function SourceLink({ file, line }: { file: string; line: number }) {
  const source = app.meta.value!.sources.find(({ path }) => path === file);
  const place = `${visible(source?.shown ?? file)}:${line}`;
  return (
    <>
      <h3>Source</h3>
      <p class="source-place">
        {source ? (
          <button class="link" onClick={() => app.go("source", { kind: "line", file, line })} title={place}>
            <span class="tail">{place}</span>
          </button>
        ) : (
          <span class="tail" title="The report does not hold this file">
            {place}
          </span>
        )}
      </p>
      <p class="actions">
        <button class="quiet" onClick={() => void app.host.copy(`${file}:${line}`)}>
          copy place
        </button>
      </p>
    </>
  );
}
