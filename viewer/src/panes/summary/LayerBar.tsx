import * as app from "../../state/app";
import { layerLabel } from "../../ui/colors";
import { amount, exact, percent } from "../../ui/format";
import { Swatch } from "../../ui/Swatch";

/** Where the time went, by layer: self amounts, so the parts add up to the whole. */
export function LayerBar({ sums }: { sums: number[] | null }) {
  const { layers } = app.meta.value!;
  const unit = app.unit.value;
  const whole = (sums ?? []).reduce((sum, value) => sum + value, 0);
  const parts = layers
    .map((layer, i) => ({ layer, value: sums?.[i] ?? 0 }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => Number(a.layer === "idle") - Number(b.layer === "idle") || b.value - a.value);
  return (
    <section class="card layers" aria-labelledby="layers-title">
      <h2 id="layers-title">
        Where the {metricName()} went
        <span class="aside">
          {whole > 0 ? `${amount(whole, unit)} recorded in ${threadText()}` : "nothing was recorded"}
        </span>
      </h2>
      <div class="layer-bar" role="img" aria-label={parts.map((p) => partText(p, whole)).join(", ")}>
        {parts.map(({ layer, value }) => (
          <div key={layer} class={`layer-${layer}`} style={{ flexGrow: String(value / whole) }} title={exact(value, unit)}>
            {value / whole > 0.09 && <span>{layerLabel(layer)}</span>}
          </div>
        ))}
      </div>
      <ul class="legend">
        {parts.map(({ layer, value }) => (
          <li key={layer} title={exact(value, unit)}>
            <Swatch layer={layer} /> {layerLabel(layer)} <b>{percent(value / whole)}</b>{" "}
            <span class="muted">{amount(value, unit)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function partText({ layer, value }: { layer: string; value: number }, whole: number): string {
  return `${layerLabel(layer)} ${percent(value / whole)}`;
}

function metricName(): string {
  return app.meta.value!.metrics[app.metric.value]?.name.replaceAll("_", " ") ?? "time";
}

function threadText(): string {
  const all = app.session.value!.threads.length;
  const shown = app.threads.value?.length ?? all;
  return shown === 1 ? "one thread" : `${shown} threads, added up`;
}
