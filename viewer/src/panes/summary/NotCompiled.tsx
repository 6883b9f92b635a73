import type { CompileEvent } from "../../data/meta";
import * as app from "../../state/app";
import { amount, plural } from "../../ui/format";
import { baseName, visible } from "../../ui/names";

const KINDS: Record<string, string> = {
  graph_break: "not compiled here",
  recompile: "compiled again",
  failure: "compiling failed",
  fallback: "fell back to eager",
};

/** What went against compilation, each with the line that caused it. */
export function NotCompiled() {
  const { compile } = app.meta.value!;
  if (compile === null) return null;
  return (
    <section class="card" aria-labelledby="compile-title">
      <h2 id="compile-title">
        Compilation
        <span class="aside">
          {plural(compile.graphs, "graph")}, {plural(compile.kernels, "kernel")}
          {compile.time_ns !== null && `, ${amount(compile.time_ns, "ns")} to compile`}
        </span>
      </h2>
      {compile.events.length === 0 ? (
        <p class="good">Nothing went against it: no graph breaks, no recompiles.</p>
      ) : (
        <ol class="events">
          {compile.events.slice(0, 6).map((event, i) => (
            <Event key={i} event={event} />
          ))}
        </ol>
      )}
      <p>
        <button class="link" onClick={() => (app.pane.value = "compiler")}>
          {compile.events.length > 6 ? `all ${compile.events.length} in Compiler` : "more in Compiler"}
        </button>
      </p>
    </section>
  );
}

function Event({ event }: { event: CompileEvent }) {
  const { file, line } = event;
  return (
    <li>
      <p>
        <b class="warning">{KINDS[event.kind] ?? event.kind.replaceAll("_", " ")}</b> {visible(event.function)}{" "}
        {file !== null && line !== null && (
          <button class="link" onClick={() => app.go("source", { kind: "line", file, line })}>
            {visible(baseName(file))}:{line}
          </button>
        )}
      </p>
      <p class="what" title={visible(event.what)}>
        {visible(event.what)}
      </p>
    </li>
  );
}
