import { useEffect } from "preact/hooks";
import { PANES } from "../panes";
import { failure, meta, notice, pane, session, view } from "../state/app";
import { handleKey } from "./keys";
import { Details } from "./Details";
import { Header } from "./Header";
import { Help } from "./Help";

export function Shell() {
  useEffect(() => {
    addEventListener("keydown", handleKey);
    return () => removeEventListener("keydown", handleKey);
  }, []);
  return (
    <div class="shell">
      <Header />
      <nav class="panes" aria-label="Panes">
        {PANES.map(({ id, title, emptyReason }, i) => (
          <button
            key={id}
            class={meta.value && emptyReason?.(meta.value) ? "pane-button empty" : "pane-button"}
            aria-current={pane.value === id ? "page" : undefined}
            title={`${title} (${i + 1})`}
            onClick={() => (pane.value = id)}
          >
            {title}
            <kbd>{i + 1}</kbd>
          </button>
        ))}
      </nav>
      <main class="main" id="main">
        <Messages />
        <Current />
      </main>
      <Details />
      <Help />
    </div>
  );
}

function Messages() {
  return (
    <>
      {failure.value !== null && (
        <div class="banner error" role="alert">
          <span>This could not be shown: {failure.value}</span>
          <button class="quiet" onClick={() => (failure.value = null)}>
            Dismiss
          </button>
        </div>
      )}
      {notice.value !== null && (
        <div class="banner" role="status">
          <span>{notice.value}</span>
          <button class="quiet" onClick={() => (notice.value = null)}>
            Dismiss
          </button>
        </div>
      )}
    </>
  );
}

function Current() {
  const current = PANES.find(({ id }) => id === pane.value)!;
  if (meta.value === null || session.value === null || view.value === null)
    return failure.value === null ? <p class="note">Opening the profile…</p> : null;
  const reason = current.emptyReason?.(meta.value);
  const Component = current.component;
  return (
    <section class="pane" key={current.id} aria-label={current.title}>
      {reason ? <p class="note">{reason}</p> : <Component />}
    </section>
  );
}
