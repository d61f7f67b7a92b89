// The client of the service's API. The page's server forwards the requests.

const token = document.querySelector('meta[name="nightshift-token"]').content;

/** The error of a request that the service or the page's server refuses. */
export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || problem.title || `The service answered with HTTP status ${status}.`);
    this.status = status;
    this.type = problem.type ?? "about:blank";
    this.pointer = problem.pointer ?? "";
  }
  /** Whether the service does not know the path or the requested object. */
  get isMissing() {
    return this.status === 404;
  }
  get isAway() {
    return this.type === "/problems/unreachable";
  }
}

async function send(method, path, body, keepalive = false) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["Nightshift-Page"] = token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, keepalive, body: body === undefined ? undefined : JSON
        .stringify(body) });
  } catch {
    throw new Refused({ type: "/problems/unreachable", title: "The page's program has ended. Run: nightshift page" }, 0);
  }
  if (!response.ok) {
    const words = await response.text();
    let problem = { title: words.trim() };
    try {
      problem = JSON.parse(words);
    } catch { /* The response is plain text. */ }
    throw new Refused(problem, response.status);
  }
  return response.status === 204 ? null : response.json();
}

export const get = path => send("GET", path);
export const post = (path, body) => send("POST", path, body);
/** Sends a POST request that the browser completes even if the page is closed meanwhile. */
export const postLeaving = (path, body) => send("POST", path, body, true);
export const patch = (path, body) => send("PATCH", path, body);
export const remove = path => send("DELETE", path);
export const segment = encodeURIComponent;

let paths = null;

/** Returns whether the service has this route, according to its OpenAPI document. The document is read only once. */
export async function has(path) {
  paths ??= get("/v1/openapi.json").then(description => new Set(Object.keys(description.paths ?? {})));
  try {
    return (await paths).has(path);
  } catch {
    paths = null;
    return false;
  }
}

/** Returns the answer; null if the service does not know the requested object. */
export async function optional(path) {
  try {
    return await get(path);
  } catch (error) {
    if (error.isMissing) return null;
    throw error;
  }
}
