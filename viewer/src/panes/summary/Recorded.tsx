import * as app from "../../state/app";
import { amount, count, plural } from "../../ui/format";
import { visible } from "../../ui/names";

/** What the numbers rest on: losses first, then what was run. */
export function Recorded() {
  const meta = app.meta.value!;
  return (
    <section class="card recorded" aria-labelledby="recorded-title">
      <h2 id="recorded-title">Recorded</h2>
      {meta.losses.length === 0 ? (
        <p class="good">Nothing was lost while recording.</p>
      ) : (
        <ul class="losses">
          {meta.losses.map((loss, i) => (
            <li key={i}>
              ⚠ {visible(loss.detail || loss.kind.replaceAll("_", " "))} <b>× {count(loss.count)}</b>
            </li>
          ))}
        </ul>
      )}
      {meta.pruned.nodes > 0 && (
        <p>
          {plural(meta.pruned.nodes, "node")} below {amount(meta.pruned.min_ns, "ns")} are shown merged as
          “small”; <code>pellucid view</code> shows all.
        </p>
      )}
      {meta.sources_left_out > 0 && (
        <p>{plural(meta.sources_left_out, "source file")} not included (--source chooses).</p>
      )}
      <dl class="about">
        {meta.runs.map((run) => (
          <div key={run.id}>
            <dt>run {meta.runs.length > 1 ? run.id : ""}</dt>
            <dd>
              {amount(run.wall_ns, "ns")}, {plural(run.threads, "thread")}, pid {run.pid} on {visible(run.host)}
              {run.rank !== null && `, rank ${run.rank} of ${run.world}`}
              {run.ended !== null && `, ${visible(run.ended)}`}
              {!run.complete && <b class="warning"> — incomplete</b>}
            </dd>
          </div>
        ))}
        {Object.entries(meta.about).map(([key, value]) => (
          <div key={key}>
            <dt>{visible(key)}</dt>
            <dd>{visible(typeof value === "string" ? value : JSON.stringify(value))}</dd>
          </div>
        ))}
        <div>
          <dt>profile</dt>
          <dd>
            {plural(meta.counts.nodes, "node")}, metrics: {meta.metrics.map(({ name }) => name).join(", ")}
          </dd>
        </div>
      </dl>
    </section>
  );
}
