import type { Steps as StepsData } from "../../data/meta";
import * as app from "../../state/app";
import { amount, plural } from "../../ui/format";
import { visible } from "../../ui/names";
import { stepStatistics } from "../../ui/steps";

const WIDTH = 400;
const HEIGHT = 56;

export function Steps() {
  const { steps } = app.meta.value!;
  const statistics = stepStatistics(steps);
  if (steps === null || statistics === null) return null;
  const { count, median, p95, slowest, slowestIndex } = statistics;
  return (
    <section class="card" aria-labelledby="steps-title">
      <h2 id="steps-title">
        Steps <span class="aside">{plural(count, visible(steps.name) || "step")}</span>
      </h2>
      <Sparkline steps={steps} median={median} />
      <dl class="inline-numbers">
        <dt>median</dt>
        <dd>{amount(median, "ns")}</dd>
        <dt>95 % within</dt>
        <dd>{amount(p95, "ns")}</dd>
        <dt>slowest</dt>
        <dd>
          {amount(slowest, "ns")} (step {slowestIndex + 1})
        </dd>
      </dl>
      {steps.left_out > 0 && <p class="hint">{plural(steps.left_out, "later step")} not shown.</p>}
    </section>
  );
}

/** Each column is the slowest of the steps that fall on it, so that no outlier is lost. */
export function sparkColumns(durations: readonly number[], most: number): number[] {
  const columns = Math.min(most, durations.length);
  return Array.from({ length: columns }, (_, i) => {
    const start = Math.floor((i * durations.length) / columns);
    const end = Math.floor(((i + 1) * durations.length) / columns);
    return durations.slice(start, end).reduce((a, b) => Math.max(a, b), 0);
  });
}

function Sparkline({ steps, median }: { steps: StepsData; median: number }) {
  const columns = sparkColumns(steps.durations_ns, WIDTH / 2);
  // A first step that compiles would flatten all others: it is cut, and marked.
  const top = Math.min(columns.reduce((a, b) => Math.max(a, b), 0), median * 3);
  const width = WIDTH / columns.length;
  const y = (value: number) => HEIGHT - (Math.min(value, top) / top) * (HEIGHT - 4);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {columns.map((value, i) => (
        <rect
          key={i}
          class={value > top ? "cut" : undefined}
          x={i * width}
          y={y(value)}
          width={Math.max(0.5, width - (width > 3 ? 1 : 0))}
          height={HEIGHT - y(value)}
        />
      ))}
      <line x1={0} x2={WIDTH} y1={y(median)} y2={y(median)} />
    </svg>
  );
}
