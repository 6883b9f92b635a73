import * as app from "../../state/app";
import { Swatch } from "../../ui/Swatch";
import { layerLabel } from "../../ui/colors";

export function Legend() {
  const view = app.view.value!;
  const used = new Set(view.layer);
  return (
    <ul class="legend" aria-label="Colours">
      {app.meta.value!.layers.map(
        (layer, i) =>
          used.has(i) && (
            <li key={layer}>
              <Swatch layer={layer} /> {layerLabel(layer)}
            </li>
          ),
      )}
    </ul>
  );
}
