// The dialog that adds transfers: URLs, their destination, and details such as checksums.

import { h, fill, text, dialog, act, toast } from "./dom.js";
import { post } from "./api.js";
import { words } from "./format.js";

/** Returns the URLs in pasted text. */
export function urls(typed) {
  return typed.split(/\s+/).filter(word => /^https?:\/\/\S+$/i.test(word));
}

/** The maximum number of transfers in one request. A longer list is sent in several requests, one after the other. */
const mostPerRequest = 1000;

/**
 * Reads a list of URLs. A line may have several URLs. Lines that begin with `#` are comments.
 *
 * Returns {found: [{url, line}], wrong: [{line, words}]}.
 */
export function parseList(typed) {
  const found = [];
  const wrong = [];
  typed.split("\n").forEach((text, index) => {
    const line = index + 1;
    if (text.trim().startsWith("#")) return;
    for (const word of text.split(/\s+/).filter(Boolean)) {
      if (!/^https?:\/\//i.test(word)) wrong.push({ line, words: /^[a-z][a-z0-9+.-]*:/i.test(word) ?
          `Only http and https URLs can be transferred: ${clipped(word)}` :
          `The URL has no scheme. Add https:// or http://: ${clipped(word)}` });
      else if (!URL.canParse(word)) wrong.push({ line, words: `The URL is not valid: ${clipped(word)}` });
      else found.push({ url: word, line });
    }
  });
  return { found, wrong };
}

const clipped = word => word.length > 60 ? `${word.slice(0, 59)}…` : word;

/** Reads `Name: value` lines. Returns {fields, wrong}. */
export function parseFields(typed) {
  const fields = [];
  const wrong = [];
  typed.split("\n").forEach((line, index) => {
    if (!line.trim()) return;
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t\r]*$/.exec(line.trim());
    if (match) fields.push({ name: match[1], value: match[2] });
    else wrong.push({ line: index + 1, words:
        `A header field must have the form Name: value. This line does not: ${clipped(line)}` });
  });
  return { fields, wrong };
}

const lengths = { 32: "md5", 40: "sha-1", 64: "sha-256", 96: "sha-384", 128: "sha-512" };

/** Reads a checksum, with or without its algorithm. Returns null if the checksum is not valid. */
export function parseChecksum(typed) {
  const match = /^(?:(md5|sha-?(?:1|256|384|512))[:= ])?\s*([0-9a-f]+)$/i.exec(typed.trim());
  const algorithm = match && lengths[match[2].length];
  const named = match?.[1]?.toLowerCase().replace(/^sha-?/, "sha-");
  return algorithm && (!named || named === algorithm) ? { algorithm, hex: match[2].toLowerCase() } : null;
}

/** Returns the path of a folder, with `~` replaced by the home folder; null if the path is not absolute. */
export function absoluteFolder(typed) {
  const path = typed.trim();
  if (path === "~" || path.startsWith("~/")) return words.home ? words.home + path.slice(1) : null;
  return path.startsWith("/") ? path : null;
}

export function addDialog(pasted = "") {
  const area = h("textarea", { class: "field", id: "urls", rows: 6, placeholder: "https://…", spellcheck: "false",
    "aria-describedby": "urls-count add-errors" });
  area.value = pasted;
  const folder = h("input", { class: "field", id: "folder", value: words.downloads, autocomplete: "off",
    "aria-describedby": "add-errors" });
  const name = h("input", { class: "field", id: "filename", autocomplete: "off", placeholder: "the server's name for the file" });
  const checksum = h("input", { class: "field", id: "checksum", autocomplete: "off", spellcheck: "false",
    placeholder: "sha-256:…" });
  const fields = h("textarea", { class: "field", id: "fields", rows: 2, spellcheck: "false",
    placeholder: "Name: value" });
  const paused = h("input", { type: "checkbox", id: "paused" });
  const whole = h("input", { type: "checkbox", id: "discretionary" });
  const count = h("span", { class: "faint", id: "urls-count", role: "status" });
  const errors = h("ul", { class: "errors", id: "add-errors", role: "alert" });
  const submit = h("button", { type: "submit", class: "button primary" }, "Add");
  const more = h("details", { id: "add-more" }, h("summary", {}, "Name, checksum, header fields"), h("div", {
      class: "stack" },
    h("label", { for: "filename" }, "File name, for one URL"), name,
    h("label", { for: "checksum" }, "Checksum, for one URL"), checksum,
    h("label", { for: "fields" }, "Header fields, one per line"), fields));
  const recount = () => {
    const found = parseList(area.value).found.length;
    text(count, found === 1 ? "1 URL" : `${found} URLs`);
    name.disabled = checksum.disabled = found > 1;
    fill(errors);
  };
  area.addEventListener("input", recount);

  /** Shows the mistakes, and moves the focus to the first one. */
  function complain(list, node, line = 0) {
    const shown = list.slice(0, 5).map(one => h("li", {}, one.line ? `Line ${one.line}: ${one.words}` : one.words));
    if (list.length > 5) shown.push(h("li", {}, `${list.length - 5} more.`));
    fill(errors, shown);
    if (more.contains(node)) more.open = true;
    node.focus();
    if (line) {
      const before = node.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      node.setSelectionRange(before, before + node.value.split("\n")[line - 1].length);
    }
  }

  /** Returns the tasks to add. Shows mistakes, if any, and then returns null. */
  function tasks() {
    const list = parseList(area.value);
    const header = parseFields(fields.value);
    const directory = absoluteFolder(folder.value);
    const digest = checksum.disabled || !checksum.value.trim() ? null : parseChecksum(checksum.value);
    const filename = name.disabled ? "" : name.value.trim();
    if (list.wrong.length) complain(list.wrong, area, list.wrong[0].line);
    else if (!list.found.length) complain([{ words: "Type or paste at least one URL." }], area);
    else if (!directory) complain([{ words: "The folder is not an absolute path. Begin it with / or ~/." }], folder);
    else if (filename.includes("/")) complain([{ words: "A file name must not contain /. Type the folder above." }], name);
    else if (checksum.value.trim() && !checksum.disabled && !digest) complain([{ words:
          "The checksum is not one of md5, sha-1, sha-256, sha-384 or sha-512 in hexadecimal digits." }], checksum);
    else if (header.wrong.length) complain(header.wrong, fields, header.wrong[0].line);
    else return list.found.map(({ url, line }) => ({ line, task: {
      url,
      destination: { directory, ...(filename ? { filename } : {}) },
      retryPolicy: "transientResponses",
      failsOnHTTPError: true,
      ...(digest ? { checksum: digest } : {}),
      ...(header.fields.length ? { headers: header.fields } : {}),
      ...(paused.checked ? { suspended: true } : {}),
      ...(whole.checked ? { isDiscretionary: true } : {})
    } }));
    return null;
  }

  async function add() {
    const list = tasks();
    if (!list) return;
    let added = 0;
    try {
      for (; added < list.length; added += mostPerRequest) {
        const some = list.slice(added, added + mostPerRequest);
        await post("/v1/tasks", { tasks: some.map(one => one.task) });
        if (list.length > mostPerRequest) text(count, `${added + some.length} of ${list.length} added`);
      }
    } catch (error) {
      refused(error, list.slice(added), added);
      return;
    }
    node.close();
    toast(list.length === 1 ? "1 transfer was added." : `${list.length} transfers were added.`);
  }

  /** Shows which line the service refused. The lines that were added before it are removed from the text. */
  function refused(error, left, added) {
    const index = /^\/tasks\/(\d+)(\/.*)?$/.exec(error.pointer ?? "");
    const one = index && left[Number(index[1])];
    const control = { "/destination/filename": name, "/checksum": checksum, "/headers": fields };
    const part = index?.[2] ?? "";
    const other = part.startsWith("/destination/filename") ? name : part.startsWith("/destination") ? folder :
      Object.entries(control).find(([path]) => part.startsWith(path))?.[1];
    const before = added ? [{ words: `${added} transfers were added. These lines were not:` }] : [];
    let line = one?.line ?? 0;
    if (added) {
      area.value = left.map(other => other.task.url).join("\n");
      line = one ? left.indexOf(one) + 1 : 0;
    }
    complain([...before, { line: other ? 0 : line, words: error.message }], other ?? area, other ? 0 : line);
  }

  const node = dialog("Add transfers", h("form", {
      class: "stack",
      novalidate: true,
      onsubmit: event => {
        event.preventDefault();
        act(submit, add);
      }
    },
    h("label", { for: "urls" }, "URLs, one per line"), area, count,
    h("label", { for: "folder" }, "Folder"), folder, more,
    h("label", { class: "check" }, paused, "Add paused"), h("label", { class: "check" }, whole,
      "Wait for power and an unmetered network"), errors,
    h("div", { class: "row end" }, submit)));
  recount();
  area.focus();
}
