import type { FunctionComponent } from "preact";
import type { Meta } from "../data/meta";
import type { PaneId } from "../state/app";

/** One place in the list at the left. */
export interface Pane {
  id: PaneId;
  title: string;
  component: FunctionComponent;
  /** Why there is nothing to show, and what records it; null if there is something. */
  emptyReason?: (meta: Meta) => string | null;
}
