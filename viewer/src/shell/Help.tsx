import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { KEY_HELP } from "./keys";

export const helpOpen = signal(false);

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [helpOpen.value]);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => (helpOpen.value = false)}
      onClick={(event) => {
        if (event.target === dialog.current) helpOpen.value = false;
      }}
    >
      <h2 id="help-title">Keys</h2>
      <dl>
        {KEY_HELP.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button onClick={() => (helpOpen.value = false)}>Close</button>
    </dialog>
  );
}
