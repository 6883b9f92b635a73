import { useEffect, useMemo, useState } from "preact/hooks";
import { GROUPINGS } from "../../engine/groups";
import type { Row } from "../../engine/tables";
import * as app from "../../state/app";
import { useEngine } from "../../state/ask";
import { matchLabels } from "../../state/matching";
import { amount, percent, plural } from "../../ui/format";
import { baseName } from "../../ui/names";
import type { Pane } from "../pane";
import { decodeTable, EMPTY, encodeTable, sortRows, TITLES, type Sort } from "./columns";
import { Grid } from "./Grid";

export const tables: Pane = { id: "tables", title: "Tables", component: Tables };

function Tables() {
  const { by, sort } = decodeTable(app.extra.value);
  const answer = useEngine("table", by, app.filters.value);
  const table = answer?.by === by ? answer : null;
  const rows = useMatching(table?.rows ?? NONE);
  const sorted = useMemo(() => sortRows(rows, sort), [rows, sort.key, sort.down]);
  const show = (next: Sort) => (app.extra.value = encodeTable(by, next));
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Tables">
        {GROUPINGS.map((name) => (
          <button
            key={name}
            role="tab"
            aria-selected={name === by}
            onClick={() => (app.extra.value = name === "operator" ? "" : name)}
          >
            {TITLES[name]}
          </button>
        ))}
      </div>
      {table !== null && table.rows.length === 0 ? (
        <p class="note">{EMPTY[by]}</p>
      ) : (
        <Grid key={by} by={by} rows={sorted} sort={sort} onSort={show} />
      )}
      <p class="table-note">
        {table !== null && noteText(rows.length, table.rows.length, table.recorded, table.unassigned)}
      </p>
    </>
  );
}

const NONE: Row[] = [];

/** The rows that the search leaves. */
function useMatching(rows: Row[]): Row[] {
  const typed = app.query.value;
  const [found, setFound] = useState<{ rows: Row[]; matching: Row[] }>({ rows: NONE, matching: NONE });
  useEffect(() => {
    let wanted = true;
    matchLabels(typed, rows.map(label)).then(
      (flags) => {
        if (wanted) setFound({ rows, matching: flags === null ? rows : rows.filter((_, i) => flags[i] === 1) });
      },
      () => undefined, // the search box says what is wrong
    );
    return () => {
      wanted = false;
    };
  }, [rows, typed]);
  return typed === "" ? rows : found.rows === rows ? found.matching : NONE;
}

function label({ name, file, line, class: cls, graph }: Row): string {
  const place = file === null ? "" : `${baseName(file)}:${line ?? ""}`;
  return [name, place, cls, graph].filter(Boolean).join(" ");
}

function noteText(shown: number, all: number, recorded: number, unassigned: number): string {
  const unit = app.unit.value;
  const rows = shown === all ? plural(all, "row") : `${shown} of ${plural(all, "row")}`;
  const outside = unassigned > 0 ? `; ${amount(unassigned, unit)} (${percent(unassigned / recorded)}) in none of them` : "";
  return `${rows}, ${amount(recorded, unit)} recorded${outside}. Shares are of the threads in which a row appears.`;
}
