// The service's API, as the page's server passes it on.

const token = document.querySelector('meta[name="nightshift-token"]').content;

/** What the service, or the page's server, has refused. */
export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || `The answer was HTTP ${status}.`);
    this.status = status;
    this.type = problem.type ?? "about:blank";
  }
  /** The service has no such part, or no such thing. */
  get isMissing() {
    return this.status === 404;
  }
  get isAway() {
    return this.type === "/problems/unreachable";
  }
}

async function send(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["Nightshift-Page"] = token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(
      body) });
  } catch {
    throw new Refused({ type: "/problems/unreachable", title: "The page's own program has ended." }, 0);
  }
  if (!response.ok) {
    const words = await response.text();
    let problem = { title: words.trim() };
    try {
      problem = JSON.parse(words);
    } catch { /* In plain words. */ }
    throw new Refused(problem, response.status);
  }
  return response.status === 204 ? null : response.json();
}

export const get = path => send("GET", path);
export const post = (path, body) => send("POST", path, body);
export const patch = (path, body) => send("PATCH", path, body);
export const remove = path => send("DELETE", path);
export const segment = encodeURIComponent;

let paths = null;

/** Whether the service has such a route: it describes itself, and says so once. */
export async function has(path) {
  paths ??= get("/v1/openapi.json").then(description => new Set(Object.keys(description.paths ?? {})));
  try {
    return (await paths).has(path);
  } catch {
    paths = null;
    return false;
  }
}

/** Nil where there is no such thing. */
export async function optional(path) {
  try {
    return await get(path);
  } catch (error) {
    if (error.isMissing) return null;
    throw error;
  }
}
