import { render } from "preact";
import { openSource } from "./data/source";
import { start } from "./state/start";
import { Shell } from "./shell/Shell";
import "./styles.css";

render(<Shell />, document.getElementById("app")!);
void start(openSource(document));
