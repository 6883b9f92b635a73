import type { Row } from "../../engine/tables";
import * as app from "../../state/app";
import { useEngine, useAnswer } from "../../state/ask";
import { columnFormat, percent } from "../../ui/format";
import { baseName, visible } from "../../ui/names";
import { ShareBar } from "../../ui/ShareBar";

const SHOWN = 8;

export function HottestLines() {
  const table = useEngine("table", "line", app.filters.value);
  const own = new Set(app.meta.value!.sources.flatMap(({ path, internal }) => (internal ? [] : [path])));
  const rows = (table?.rows ?? [])
    .filter((row) => row.self > 0 && row.file !== null && (own.size === 0 || own.has(row.file)))
    .sort((a, b) => b.self - a.self)
    .slice(0, SHOWN);
  const texts = useLineTexts(rows);
  return (
    <section class="card" aria-labelledby="lines-title">
      <h2 id="lines-title">
        Hottest lines <span class="aside">with the operators they call</span>
      </h2>
      <HotList rows={rows} amountOf={(row) => row.self} whole={table?.recorded ?? 0} waiting={table === null}>
        {(row, i) => (
          <button class="link hot" onClick={() => openLine(row)} title={`${visible(row.file!)}:${row.line}`}>
            <span class="place">{`${visible(baseName(row.file!))}:${row.line}`}</span>
            <code>{texts?.[i] ?? visible(row.name)}</code>
          </button>
        )}
      </HotList>
    </section>
  );
}

function openLine(row: Row): void {
  app.go("source", { kind: "line", file: row.file!, line: row.line! });
}

/** The text of each line, from the sources that the report holds. */
function useLineTexts(rows: Row[]): (string | null)[] | null {
  const { profile } = app.session.value!;
  const { sources } = app.meta.value!;
  const read = async (row: Row) => {
    const index = sources.findIndex(({ path }) => path === row.file);
    if (index < 0) return null;
    const text = await profile.sourceText(index);
    return visible(text.split(/\r\n|\r|\n/)[row.line! - 1]?.trim() ?? "") || null;
  };
  const key = rows.map(({ file, line }) => `${file}:${line}`).join("\n");
  return useAnswer(() => Promise.all(rows.map(read)), [key]);
}

export function HottestModules() {
  const table = useEngine("table", "module", app.filters.value);
  const rows = [...(table?.rows ?? [])].sort((a, b) => b.self - a.self).filter((row) => row.self > 0);
  return (
    <section class="card" aria-labelledby="modules-title">
      <h2 id="modules-title">
        Hottest modules <span class="aside">without the modules inside</span>
      </h2>
      <HotList rows={rows.slice(0, SHOWN)} amountOf={(row) => row.self} whole={table?.recorded ?? 0} waiting={table === null}>
        {(row) => (
          <button class="link hot" onClick={() => app.go("flame", { kind: "node", node: row.node })} title={visible(row.name)}>
            <span class="tail">{visible(row.name)}</span>
            <span class="place">{visible(row.class ?? "")}</span>
          </button>
        )}
      </HotList>
    </section>
  );
}

interface HotListProps {
  rows: Row[];
  amountOf: (row: Row) => number;
  whole: number;
  waiting: boolean;
  children: (row: Row, index: number) => preact.ComponentChildren;
}

function HotList({ rows, amountOf, whole, waiting, children }: HotListProps) {
  if (rows.length === 0)
    return <p class="hint">{waiting ? "…" : "None was recorded under these filters."}</p>;
  const largest = amountOf(rows[0]!);
  const { cell, unit } = columnFormat(largest, app.unit.value);
  return (
    <ol class="hot-list">
      {rows.map((row, i) => (
        <li key={`${row.name} ${row.file}:${row.line} ${row.root}`}>
          {children(row, i)}
          <span class="number">
            {cell(amountOf(row))} <span class="unit">{unit}</span>
          </span>
          <span class="number share">{percent(whole > 0 ? amountOf(row) / whole : null)}</span>
          <ShareBar share={amountOf(row)} largest={largest} />
        </li>
      ))}
    </ol>
  );
}
