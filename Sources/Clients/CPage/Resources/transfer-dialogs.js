// The dialogs about many transfers: the limits of all transfers together, and actions on all of them.

import { h, button, dialog, act, toast } from "./dom.js";
import { post, patch } from "./api.js";
import { state, readStatus } from "./store.js";
import { parseRate, typedRate, isOver } from "./format.js";
import { actOnAll, retryAll, removeTasks, canPause, canRestart, waitsForRetry } from "./transfer-actions.js";

export { addDialog, urls } from "./add-dialog.js";

export async function limits() {
  const now = state.status?.settings ?? {};
  const speed = h("input", { class: "field", id: "all-limit", value: typedRate(now.rateLimit),
    placeholder: "none" });
  const most = h("input", { class: "field", id: "most", type: "number", min: 1, max: 1000, value: String(now
      .maximumTransfers ?? "") });
  const yields = h("select", { class: "field", id: "yield" }, [
    ["auto", "those in the background"], ["on", "all that nobody waits for in an app"], ["off", "none by itself"],
  ].map(([value, words]) => h("option", { value, selected: value === (now.yield ?? "auto") }, words)));
  const submit = h("button", { type: "submit", class: "button primary" }, "Set");
  const node = dialog("Limits of all transfers", h("form", {
      class: "stack",
      onsubmit: async event => {
        event.preventDefault();
        const rateLimit = parseRate(speed.value);
        if (Number.isNaN(rateLimit)) {
          toast("The limit is not a rate. Type a number with K, M or G, such as 500K.", true);
          return;
        }
        const change = { rateLimit, yield: yields.value, ...(most.value ? { maximumTransfers: Number(most.value) } : {}) };
        if (await act(submit, () => patch("/v1/settings", change))) {
          node.close();
          toast("The limits were changed.");
          readStatus();
        }
      }
    },
    h("label", { for: "all-limit" }, "Bytes per second of all transfers together (500K, 1.5M; empty for no limit)"), speed,
    h("label", { for: "most" }, "Maximum number of transfers at the same time"), most,
    h("label", { for: "yield" }, "Transfers that yield to other traffic"), yields, h("div", { class: "row end" }, submit)));
}

export function everything() {
  const all = isIn => [...state.tasks.values()].filter(task => !state.hidden.has(task.id) && isIn(task));
  const entry = (shape, words, id, tasks, run) => button(shape, `${words} (${tasks.length})`, async event => {
    await run(tasks, event.currentTarget);
    menu.close();
  }, { showsWords: true, disabled: !tasks.length, id });
  const menu = dialog("All transfers", h("div", { class: "stack menu" },
    entry("pause", "Pause all", "pause-all", all(canPause), (tasks, node) => actOnAll("suspend", tasks, node)),
    entry("play", "Resume all", "resume-all", all(task => task.state === "suspended"), (tasks, node) => actOnAll(
      "resume", tasks, node)),
    entry("retry", "Retry all that wait after an error", "retry-all", all(waitsForRetry), (tasks, node) =>
      act(node, async () => {
        const { count } = await post("/v1/retry", {});
        toast(count === 1 ? "1 transfer is being retried." : `${count} transfers are being retried.`);
      })),
    entry("retry", "Retry failed downloads", "restart-all", all(canRestart), retryAll),
    entry("remove", "Remove all that have ended", "remove-all", all(isOver), tasks => removeTasks(tasks))));
}
