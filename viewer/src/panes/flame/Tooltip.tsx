import type { View } from "../../engine/view";
import * as app from "../../state/app";
import { amount, count, percent } from "../../ui/format";

export interface Hover {
  v: number;
  x: number;
  y: number;
}

export function Tooltip({ view, hover: { v, x, y } }: { view: View; hover: Hover }) {
  const { prefix, name, place } = app.session.value!.names.info(view.frame[v]!);
  const unit = app.unit.value;
  const right = x > innerWidth / 2;
  const low = y > innerHeight * 0.7;
  const style = {
    left: right ? "auto" : `${x + 14}px`,
    right: right ? `${innerWidth - x + 14}px` : "auto",
    top: low ? "auto" : `${y + 16}px`,
    bottom: low ? `${innerHeight - y + 12}px` : "auto",
  };
  return (
    <div class="tooltip" style={style}>
      <p class="name">
        <span class="prefix">{prefix}</span> {name}
      </p>
      {place !== "" && <p class="place">{place}</p>}
      <p>
        {amount(view.total[v]!, unit)} · {percent(view.total[v]! / view.whole)}
        {view.self[v]! > 0 && view.self[v] !== view.total[v] && ` · self ${amount(view.self[v]!, unit)}`}
        {view.calls[v]! > 0 && ` · ${count(view.calls[v]!)} calls`}
      </p>
    </div>
  );
}
