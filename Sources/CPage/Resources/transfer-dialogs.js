// What is done to many transfers at once: adding them, limits of all, one action for all.

import { h, text, button, dialog, act, toast } from "./dom.js";
import { post, patch } from "./api.js";
import { state, tellTask, forgetTask, readStatus } from "./store.js";
import { words, parseRate, typedRate, isOver } from "./format.js";

export function urls(typed) {
  return typed.split(/\s+/).filter(word => /^https?:\/\/\S+$/i.test(word));
}

export function addDialog(pasted = "") {
  const area = h("textarea", { class: "field", id: "urls", rows: 6, placeholder: "https://…",
  spellcheck: "false" });
  area.value = pasted;
  const folder = h("input", { class: "field", id: "folder", value: words.downloads, autocomplete: "off" });
  const paused = h("input", { type: "checkbox", id: "paused" });
  const whole = h("input", { type: "checkbox", id: "discretionary" });
  const count = h("span", { class: "faint" });
  const submit = h("button", { type: "submit", class: "button primary" }, "Add");
  const recount = () => {
    const found = urls(area.value).length;
    text(count, found === 1 ? "1 URL" : `${found} URLs`);
    submit.disabled = !found;
  };
  area.addEventListener("input", recount);
  const node = dialog("Add transfers", h("form", {
      class: "stack",
      onsubmit: async event => {
        event.preventDefault();
        const tasks = urls(area.value).map(url => ({
          url,
          destination: { directory: folder.value },
          retryPolicy: "transientResponses",
          failsOnHTTPError: true,
          ...(paused.checked ? { suspended: true } : {}),
          ...(whole.checked ? { isDiscretionary: true } : {})
        }));
        const added = await act(submit, () => post("/v1/tasks", { tasks }));
        if (added) {
          node.close();
          toast(added.ids.length === 1 ? "1 transfer was accepted." :
            `${added.ids.length} transfers were accepted.`);
        }
      }
    },
    h("label", { for: "urls" }, "URLs, one to a line"), area, count,
    h("label", { for: "folder" }, "Into the folder"), folder,
    h("label", { class: "check" }, paused, "Paused until it is resumed"), h("label", { class: "check" }, whole,
      "Waits for a good moment: power, and a network that is free"),
    h("div", { class: "row end" }, submit)));
  recount();
  area.focus();
}

export async function limits() {
  const now = state.status?.settings ?? {};
  const speed = h("input", { class: "field", id: "all-limit", value: typedRate(now.rateLimit),
    placeholder: "none" });
  const most = h("input", { class: "field", id: "most", type: "number", min: 1, max: 1000, value: String(now
      .maximumTransfers ?? "") });
  const submit = h("button", { type: "submit", class: "button primary" }, "Set");
  const node = dialog("Limits of all transfers", h("form", {
      class: "stack",
      onsubmit: async event => {
        event.preventDefault();
        const rateLimit = parseRate(speed.value);
        if (Number.isNaN(rateLimit)) {
          toast("A limit is a number with K, M or G, such as 500K.", true);
          return;
        }
        const change = { rateLimit, ...(most.value ? { maximumTransfers: Number(most.value) } : {}) };
        if (await act(submit, () => patch("/v1/settings", change))) {
          node.close();
          toast("The limits are changed.");
          readStatus();
        }
      }
    },
    h("label", { for: "all-limit" }, "Bytes per second, together (500K, 1.5M, nothing for no limit)"), speed,
    h("label", { for: "most" }, "Transfers at once"), most, h("div", { class: "row end" }, submit)));
}

export function everything() {
  const all = isIn => [...state.tasks.values()].filter(isIn).map(task => task.id);
  const some = (action, ids) => async event => {
    const node = event.currentTarget;
    await act(node, async () => {
      let refused = 0;
      for (let i = 0; i < ids.length; i += 1000) {
        const answer = await post("/v1/actions", { action, tasks: ids.slice(i, i + 1000) });
        for (const result of answer.results) {
          if (result.problem) refused += 1;
          else if (result.task) tellTask(result.task);
          else forgetTask(result.id);
        }
      }
      toast(refused ? `Done, but for ${refused} that could not be.` : "Done.");
    });
    menu.close();
  };
  const running = all(task => task.state === "running" || task.state === "waiting");
  const paused = all(task => task.state === "suspended");
  const over = all(isOver);
  const menu = dialog("All transfers", h("div", { class: "stack menu" },
    button("pause", `Pause all (${running.length})`, some("suspend", running), { showsWords: true, disabled: !
        running.length, id: "pause-all" }),
    button("play", `Resume all (${paused.length})`, some("resume", paused), { showsWords: true, disabled: !
        paused.length, id: "resume-all" }),
    button("retry", "Try again now what failed", event => act(event.currentTarget, () => post("/v1/retry", {}),
      "It is tried again.").then(() => menu.close()), { showsWords: true }),
    button("remove", `Remove what has ended (${over.length})`, some("remove", over), { showsWords: true,
      disabled: !over.length, id: "remove-all" })));
}
