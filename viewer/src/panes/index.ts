import { compiler } from "./compiler/pane";
import { flame } from "./flame/Flame";
import type { Pane } from "./pane";
import { source } from "./source/pane";
import { summary } from "./summary/Summary";
import { tables } from "./tables/Tables";

/** In the order of the number keys. */
export const PANES: readonly Pane[] = [summary, flame, tables, source, compiler];
