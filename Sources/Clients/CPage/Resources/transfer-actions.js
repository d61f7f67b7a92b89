// Actions on one or several transfers. An action that deletes data asks first or can be undone.

import { confirm, act, toast, undoable } from "./dom.js";
import { get, post, postLeaving } from "./api.js";
import { state, tellTask, forgetTask, hideTasks, showTasks, taskPath } from "./store.js";
import { shortName, isOver, size, amounts } from "./format.js";

/** The maximum number of transfers in one request. */
const mostPerRequest = 1000;
const waitsThatRetryEnds = ["retry", "retryAfter", "hostBackoff", "slow"];

/** Whether the transfer is waiting for its next attempt. */
export const waitsForRetry = task => task.state === "waiting" && waitsThatRetryEnds.includes(task.wait?.reason);
/** Whether a retry can start a failed transfer again. */
export const canRestart = task => task.state === "failed" && task.kind !== "upload" && !task.file;
export const canPause = task => task.state === "waiting" || task.state === "running";
export const canCancel = task => !isOver(task) && task.state !== "finishing" && task.state !== "removed";

const transfers = count => count === 1 ? "1 transfer" : `${count} transfers`;

/** Changes the URL of a transfer. */
export const retarget = (task, url) => post(taskPath(task.id, "retarget"), { url }).then(tellTask);

export const single = {
  pause: task => post(taskPath(task.id, "suspend")).then(tellTask),
  resume: task => post(taskPath(task.id, "resume")).then(tellTask),
  retry: task => post(taskPath(task.id, "retry")).then(tellTask),
  cancel: task => post(taskPath(task.id, "cancel")).then(tellTask),
  remove: async task => removeTasks([task]),
  restore: async () => removal?.pending.undo()
};

/** The main action of a row: {icon, words, run}. */
export function mainAction(task) {
  if (task.state === "removed") return { icon: "undo", words: "Undo the removal", run: single.restore };
  if (task.state === "suspended") return { icon: "play", words: "Resume", run: single.resume };
  if (waitsForRetry(task)) return { icon: "retry", words: "Retry now", run: single.retry };
  if (canPause(task)) return { icon: "pause", words: "Pause", run: single.pause };
  if (canRestart(task)) return { icon: "retry", words: "Retry", run: single.retry };
  if (isOver(task)) return { icon: "remove", words: "Remove from the list", run: single.remove };
  return null;
}

// MARK: - Cancelling

function cancelWords(tasks) {
  const bytes = tasks.filter(task => task.kind !== "upload").reduce((sum, task) => sum + Math.max(0, amounts(task)
    .done ?? 0), 0);
  const deleted = bytes > 0 ? `${size(bytes)} of unfinished data is deleted. ` : "";
  const uploads = tasks.filter(task => task.kind === "upload").length;
  const kept = uploads === 0 ? "Finished files stay." : uploads === tasks.length ?
    "Your own files stay. The uploaded data is lost." : "Finished files and the files you upload stay.";
  return `${deleted}${kept}`;
}

export async function cancel(task, node) {
  if (await confirm(`Cancel ${shortName(task)}?`, cancelWords([task]), "Cancel the transfer", "Keep it")) {
    await act(node, () => single.cancel(task));
  }
}

// MARK: - Removing

let removal = null;

/** Removes ended transfers from the list at once, and from the service after the time in which you can undo it. */
export function removeTasks(tasks) {
  if (!tasks.length) return;
  if (!removal) {
    const mine = removal = { tasks: new Map() };
    mine.pending = undoable("", isLeaving => {
      removal = null;
      return finishRemoval([...mine.tasks.keys()], isLeaving);
    }, () => {
      removal = null;
      showTasks(mine.tasks.keys());
    });
  }
  for (const task of tasks) removal.tasks.set(task.id, task);
  hideTasks(tasks.map(task => task.id));
  removal.pending.words(removalWords([...removal.tasks.values()]));
  removal.pending.restart();
}

/** Whether the complete file is in the service's own folder. Such a file is deleted with the transfer. */
const isKeptByService = task => task.kind !== "upload" && task.state === "completed" && !task.destination;

function removalWords(tasks) {
  const kept = tasks.filter(isKeptByService).length;
  const what = tasks.length === 1 ? `${shortName(tasks[0])} is removed from the list.` :
    `${tasks.length} transfers are removed from the list.`;
  if (kept === 0) return `${what} Finished files stay.`;
  return tasks.length === 1 ? `${what} Its file, which the service keeps, is deleted.` :
    `${what} Files that the service keeps are deleted (${kept}); other finished files stay.`;
}

async function finishRemoval(ids, isLeaving) {
  const send = isLeaving ? postLeaving : post;
  let refused = [];
  try {
    for (let i = 0; i < ids.length; i += mostPerRequest) {
      const answer = await send("/v1/actions", { action: "remove", tasks: ids.slice(i, i + mostPerRequest) });
      for (const result of answer.results) {
        if (result.problem) refused.push(result);
        else forgetTask(result.id);
      }
    }
  } catch (error) {
    toast(`The removal failed. ${error.message}`, true);
    showTasks(ids);
    return;
  }
  showTasks(refused.map(result => result.id));
  if (refused.length) toast(`${transfers(refused.length)} could not be removed. ${refused[0].problem.detail ?? ""}`,
    true);
}

// MARK: - Several

const done = { suspend: "paused", resume: "resumed", cancel: "cancelled" };

/** Pauses, resumes or cancels the transfers. */
export async function actOnAll(action, tasks, node) {
  if (action === "cancel" && !await confirm(`Cancel ${transfers(tasks.length)}?`, cancelWords(tasks),
      `Cancel ${transfers(tasks.length)}`, "Keep them")) return;
  await act(node, async () => {
    const ids = tasks.map(task => task.id);
    const refused = [];
    for (let i = 0; i < ids.length; i += mostPerRequest) {
      const answer = await post("/v1/actions", { action, tasks: ids.slice(i, i + mostPerRequest) });
      for (const result of answer.results) {
        if (result.problem) refused.push(result.problem);
        else if (result.task) tellTask(result.task);
      }
    }
    report(ids.length - refused.length, done[action], refused);
  });
}

/** Starts the next attempt of waiting transfers now, and starts failed downloads again. */
export async function retryAll(tasks, node) {
  await act(node, async () => {
    const ids = tasks.filter(task => waitsForRetry(task) || canRestart(task)).map(task => task.id);
    const refused = [];
    let count = 0;
    for (let i = 0; i < ids.length; i += mostPerRequest) {
      const answer = await post("/v1/retry", { tasks: ids.slice(i, i + mostPerRequest) });
      count += answer.count;
      refused.push(...answer.refused.map(one => one.problem));
    }
    report(count, "being retried", refused);
  });
}

function report(count, what, refused) {
  const said = count === 0 ? "" : `${transfers(count)} ${count === 1 ? "is" : "are"} ${what}. `;
  const not = refused.length ? `The service refused this for ${transfers(refused.length)}: ${refused[0].detail ?? refused[0].title}` :
    count === 0 ? "There was nothing to do." : "";
  toast(said + not, refused.length > 0);
}

export const explain = id => get(taskPath(id, "why"));
