import * as app from "../../state/app";
import { useEngine } from "../../state/ask";
import type { Pane } from "../pane";
import { HottestLines, HottestModules } from "./Hottest";
import { LayerBar } from "./LayerBar";
import { NotCompiled } from "./NotCompiled";
import { Recorded } from "./Recorded";
import { Steps } from "./Steps";

export const summary: Pane = { id: "summary", title: "Summary", component: Summary };

function Summary() {
  const filters = app.filters.value;
  const layers = useEngine("layers", filters);
  return (
    <div class="summary">
      <LayerBar sums={layers} />
      <div class="columns">
        <HottestLines />
        <HottestModules />
        <NotCompiled />
        <Steps />
      </div>
      <Recorded />
    </div>
  );
}
