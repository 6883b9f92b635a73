import { useEffect, useRef } from "preact/hooks";
import type { Grouping } from "../../engine/groups";
import type { Row } from "../../engine/tables";
import * as app from "../../state/app";
import { columnFormat, count, exact, percent } from "../../ui/format";
import { baseName, visible } from "../../ui/names";
import { ShareBar } from "../../ui/ShareBar";
import { useVirtualRows } from "../../ui/virtual";
import type { Sort, SortKey } from "./columns";

const HEIGHT = 26;

interface Column {
  key: SortKey;
  title: string;
  help: string;
}

const COLUMNS: readonly Column[] = [
  { key: "name", title: "name", help: "" },
  { key: "self", title: "self", help: "without what has a row of its own" },
  { key: "total", title: "total", help: "with all that it calls; recursion counts once" },
  { key: "backward", title: "backward", help: "the part of total that ran in the backward pass" },
  { key: "calls", title: "calls", help: "counted; for modules estimated" },
];

interface GridProps {
  by: Grouping;
  rows: Row[];
  sort: Sort;
  onSort: (sort: Sort) => void;
}

export function Grid({ by, rows, sort, onSort }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualRows(scroller, rows.length, HEIGHT);
  const unit = app.unit.value;
  const largest = (key: "self" | "total" | "backward") => rows.reduce((most, row) => Math.max(most, row[key]), 0);
  const formats = { self: columnFormat(largest("total"), unit), calls: count };
  const current = rows.findIndex(isSelected);
  useEffect(() => scroller.current?.scrollTo({ top: 0 }), [sort.key, sort.down]);

  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (event.key === "Enter" && current >= 0) app.go("flame");
    if (step === undefined || rows.length === 0) return;
    event.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, current + step));
    choose(rows[next]!);
    virtual.scrollToIndex(next);
  };
  return (
    <div class={`grid by-${by}`} role="grid" aria-rowcount={rows.length + 1} aria-label="Table">
      <div class="grid-head" role="row">
        {COLUMNS.map((column) => (
          <Head key={column.key} column={column} sort={sort} onSort={onSort} unit={formats.self.unit} />
        ))}
      </div>
      <div ref={scroller} class="grid-body" tabIndex={0} onKeyDown={move} role="rowgroup" aria-label="Rows">
        <div style={{ height: `${virtual.getTotalSize()}px` }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            return (
              row && (
                <GridRow
                  key={index}
                  row={row}
                  index={index}
                  top={start}
                  selected={index === current}
                  cell={formats.self.cell}
                  unit={unit}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Head(props: { column: Column; sort: Sort; onSort: (sort: Sort) => void; unit: string }) {
  const { column, sort, onSort, unit } = props;
  const { key, title, help } = column;
  const sorted = sort.key === key;
  const state = sorted ? (sort.down ? "descending" : "ascending") : "none";
  const timed = key !== "name" && key !== "calls";
  return (
    <div role="columnheader" aria-sort={state} class={`cell ${key}`}>
      <button title={help} onClick={() => onSort({ key, down: sorted ? !sort.down : key !== "name" })}>
        {title}
        {timed && <span class="unit"> {unit}</span>}
        <span class="arrow" aria-hidden="true">
          {sorted ? (sort.down ? "▾" : "▴") : ""}
        </span>
      </button>
    </div>
  );
}

interface GridRowProps {
  row: Row;
  index: number;
  top: number;
  selected: boolean;
  cell: (value: number) => string;
  unit: string;
}

function GridRow({ row, index, top, selected, cell, unit }: GridRowProps) {
  return (
    <div
      class="grid-row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => choose(row)}
      onDblClick={() => app.go("flame")}
    >
      <div role="gridcell" class="cell name" title={visible(row.name)}>
        <span class="tail">{visible(row.name)}</span>
        <span class="place">{placeOf(row)}</span>
      </div>
      <div role="gridcell" class="cell self" title={exact(row.self, unit)}>
        {cell(row.self)}
        <span class="share">{percent(row.selfShare)}</span>
        <ShareBar share={row.selfShare} />
      </div>
      <div role="gridcell" class="cell total" title={exact(row.total, unit)}>
        {cell(row.total)}
        <span class="share">{percent(row.totalShare)}</span>
        <ShareBar share={row.totalShare} />
      </div>
      <div role="gridcell" class="cell backward" title={exact(row.backward, unit)}>
        {row.backward > 0 ? cell(row.backward) : ""}
      </div>
      <div role="gridcell" class="cell calls">
        {row.calls === null ? "" : count(row.calls)}
      </div>
    </div>
  );
}

function placeOf({ file, line, class: cls, graph }: Row): string {
  if (file !== null) return `${visible(baseName(file))}${line === null ? "" : `:${line}`}`;
  return visible(cls ?? graph ?? "");
}

/** A row of a line selects the line, others the node that spent most. */
function choose(row: Row): void {
  app.select({ kind: "node", node: row.node });
}

function isSelected(row: Row): boolean {
  const selected = app.selection.value;
  if (selected?.kind === "line") return row.file === selected.file && row.line === selected.line;
  return selected?.kind === "node" && selected.node === row.node;
}
