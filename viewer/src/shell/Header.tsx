import { batch } from "@preact/signals";
import { useRef } from "preact/hooks";
import * as app from "../state/app";
import { theme, toggleTheme } from "../state/theme";
import { amount, percent, plural } from "../ui/format";
import { visible } from "../ui/names";
import { stepStatistics } from "../ui/steps";
import { helpOpen } from "./Help";

export function Header() {
  const meta = app.meta.value;
  return (
    <header class="header">
      <h1 class="title" title={meta ? visible(meta.title) : undefined}>
        {meta ? visible(meta.title) : "pellucid"}
      </h1>
      <Facts />
      <Filters />
      <Search />
      <LossBadge />
      <button
        class="quiet icon"
        title={`Use the ${theme.value === "dark" ? "light" : "dark"} theme`}
        aria-label="Switch theme"
        onClick={toggleTheme}
      >
        {theme.value === "dark" ? "☀" : "☾"}
      </button>
      <button class="quiet icon" aria-label="Keys and help" title="Keys (?)" onClick={() => (helpOpen.value = true)}>
        ?
      </button>
    </header>
  );
}

function Facts() {
  const meta = app.meta.value;
  if (meta === null) return null;
  const wall = Math.max(0, ...meta.runs.map((run) => run.wall_ns));
  const steps = stepStatistics(meta.steps);
  return (
    <p class="facts">
      <span title="Wall time of the run">{amount(wall, "ns")}</span>
      {meta.runs.length > 1 && <span>{plural(meta.runs.length, "run")}</span>}
      {steps && (
        <span title={`Median of ${plural(steps.count, "step")} ± half of the range between quartiles`}>
          {amount(steps.median, "ns")}/step ± {amount(steps.spread, "ns")}
        </span>
      )}
    </p>
  );
}

function Filters() {
  const meta = app.meta.value;
  const threads = app.session.value?.threads ?? [];
  const additive = (meta?.metrics ?? []).flatMap(({ name, additive }, i) => (additive ? [{ name, i }] : []));
  return (
    <div class="filters" role="group" aria-label="Filters">
      <select
        aria-label="Metric"
        title={meta?.metrics[app.metric.value]?.help}
        value={app.metric.value}
        onChange={(event) => (app.metric.value = Number(event.currentTarget.value))}
      >
        {additive.map(({ name, i }) => (
          <option key={i} value={i}>
            {name.replaceAll("_", " ")}
          </option>
        ))}
      </select>
      <select
        aria-label="Phase"
        class={app.phase.value === "all" ? "" : "active"}
        value={app.phase.value}
        onChange={(event) => (app.phase.value = event.currentTarget.value as typeof app.phase.value)}
      >
        <option value="all">all phases</option>
        <option value="forward">forward</option>
        <option value="backward">backward</option>
      </select>
      <select
        aria-label="Thread"
        class={app.threads.value === null ? "" : "active"}
        value={app.threads.value?.[0] ?? ""}
        onChange={(event) => {
          const { value } = event.currentTarget;
          app.threads.value = value === "" ? null : [Number(value)];
        }}
      >
        <option value="">all threads</option>
        {threads.map((label, i) => (
          <option key={i} value={i}>
            {visible(label)}
          </option>
        ))}
      </select>
      <label class="check" title="Look through frames of torch and the standard library (f)">
        <input
          type="checkbox"
          checked={app.fold.value}
          onChange={(event) => (app.fold.value = event.currentTarget.checked)}
        />
        fold internals
      </label>
      <button
        class="quiet reset"
        hidden={!app.filtered.value}
        onClick={() => batch(app.resetFilters)}
        title="Show all phases and threads"
      >
        reset
      </button>
    </div>
  );
}

function Search() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div class="search" role="search">
      <input
        ref={input}
        id="search"
        type="search"
        placeholder="Search   /"
        aria-label="Search names; /…/ for a regular expression"
        title="Text in names and places, or /a regular expression/"
        aria-invalid={app.searchError.value !== null}
        value={app.query.value}
        onInput={(event) => (app.query.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") input.current?.blur();
        }}
      />
      <span class="matches" role="status">
        {matchText()}
      </span>
    </div>
  );
}

function matchText(): string {
  if (app.searchError.value !== null) return app.searchError.value;
  const matches = app.matches.value;
  if (matches === null) return "";
  if (matches.names === 0) return "no match";
  return `${plural(matches.names, "name")}, ${percent(matches.share)}`;
}

function LossBadge() {
  const losses = app.meta.value?.losses ?? [];
  if (losses.length === 0) return null;
  const text = losses.map(({ count, detail, kind }) => `${count} × ${detail || kind}`).join("\n");
  return (
    <button class="badge" title={visible(text)} onClick={() => (app.pane.value = "summary")}>
      ⚠ {plural(losses.length, "loss", "losses")}
    </button>
  );
}
