#!/usr/bin/env python3
"""Replays the calls of the web interface AriaNg from a page in headless Chromium, and checks what the page gets.

    ariang.py --rpc http://127.0.0.1:6800/jsonrpc --secret SECRET --dir DIR [--cors]

No build of AriaNg is available offline. So ariang_page.html sends the methods, parameters and order that AriaNg's
sources (github.com/mayswind/AriaNg, src/scripts/services) send, and reads the answers as they do. The page
comes from another origin than the server, like a hosted AriaNg, and once from a file, like AriaNg's all-in-one build.
With --cors the server allows foreign origins, and the page also calls by HTTP. Without it, the browser must block that.
Each check prints `ok NAME` or `FAILED NAME: expected … got …`. The exit code is 1 if a check failed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from common import WAIT_SECONDS, Checks, Rpc, arguments, new_folder, wait_for, websocket_url
from origin import Origin, content

SIZE = 400_000
SLOW_SIZE = 4_000_000
SLOW_RATE = 100_000
UNKNOWN_GID = "00000000deadbeef"
# The keys of AriaNg's list pages. It asks for the full ones first, then every second for the basic ones.
BASIC_KEYS = [
    "gid",
    "totalLength",
    "completedLength",
    "uploadSpeed",
    "downloadSpeed",
    "connections",
    "numSeeders",
    "seeder",
    "status",
    "errorCode",
    "verifiedLength",
    "verifyIntegrityPending",
]
FULL_KEYS = [*BASIC_KEYS, "files", "bittorrent", "infoHash"]
STAT_KEYS = ["downloadSpeed", "numActive", "numStopped", "numWaiting", "uploadSpeed"]
# Options that AriaNg's settings pages show in their first group.
SETTINGS = [
    "dir",
    "max-concurrent-downloads",
    "check-integrity",
    "continue",
    "max-connection-per-server",
    "split",
    "min-split-size",
    "user-agent",
    "max-overall-download-limit",
    "max-download-limit",
    "timeout",
    "max-tries",
    "retry-wait",
    "auto-file-renaming",
    "allow-overwrite",
    "disk-cache",
    "file-allocation",
]


class Page:
    """The page in the browser."""

    def __init__(self, driver: webdriver.Chrome, secret: str) -> None:
        self.driver = driver
        self.token = f"token:{secret}"

    def run(self, expression: str, *values: Any) -> Any:
        """Evaluates a promise of the page and returns its value."""
        script = (
            f"const finish = arguments[arguments.length - 1], given = arguments;"
            f"Promise.resolve({expression}).then(finish, (error) => finish({{thrown: String(error)}}));"
        )
        return self.driver.execute_async_script(script, *values)

    def open(self, url: str, rpc: str) -> str:
        """Loads the page and connects it. Returns `open` or `closed`."""
        self.driver.get(url)
        return self.run("page.open(given[0])", websocket_url(rpc))

    def answer(self, method: str, *params: Any) -> dict[str, Any]:
        """Calls a method with the secret and returns the whole answer."""
        token = [] if method.startswith("system.") else [self.token]
        return self.run("page.call(given[0], given[1])", method, token + list(params))

    def call(self, method: str, *params: Any) -> Any:
        """Calls a method with the secret and returns the result, or the error as it is."""
        answer = self.answer(method, *params)
        return answer.get("result", answer)

    def call_all(self, *requests: tuple[Any, ...]) -> list[Any]:
        """Calls several methods at once and returns their results."""
        full = [[method, [self.token, *params]] for method, *params in requests]
        return [answer.get("result", answer) for answer in self.run("page.callAll(given[0])", full)]

    def read(self, task: Any) -> dict[str, Any]:
        """Returns what AriaNg shows of a download."""
        return self.run("page.read(given[0])", task)

    def notifications(self) -> list[list[str]]:
        """Returns the notifications that the page got."""
        return self.driver.execute_script("return page.notifications")


class Session:
    """The objects that all sections use."""

    def __init__(self, options: Any, origin: Origin, page: Page, checks: Checks) -> None:
        self.options = options
        self.origin = origin
        self.page = page
        self.checks = checks
        self.folder = new_folder(options.dir, "ariang")
        self.rpc = Rpc(options.rpc, options.secret)

    def slow(self, name: str) -> str:
        """Returns the URL of a file that lasts for about 40 seconds."""
        return self.origin.slow(name, SLOW_SIZE, SLOW_RATE)

    def add(self, url: str, **options: str) -> str:
        """Adds a download as the new-task page does."""
        return self.page.call("aria2.addUri", [url], {"dir": str(self.folder), **options})

    def status(self, gid: str, status: str) -> str:
        """Waits until a download has a status, asked as the details page does, and returns it."""
        told: list[str] = [""]

        def arrived() -> bool:
            told[0] = self.page.call("aria2.tellStatus", gid).get("status", "")
            return told[0] == status

        wait_for(f"{gid} to be {status}", arrived)
        return told[0]


def check_start(session: Session) -> None:
    """Checks the first calls of AriaNg: the global statistics and the list of active downloads."""
    checks, page = session.checks, session.page
    stat, active = page.call_all(("aria2.getGlobalStat",), ("aria2.tellActive", FULL_KEYS))
    checks.equal("start: getGlobalStat has the keys that the page counts", [], sorted(set(STAT_KEYS) - set(stat)))
    checks.equal("start: the counts are digits", [], [stat[key] for key in STAT_KEYS if not stat[key].isdigit()])
    checks.equal("start: an empty list is a list", [], active)
    version = page.call("aria2.getVersion")
    checks.holds(
        "status page: getVersion has a version and features",
        version["version"] and isinstance(version["enabledFeatures"], list),
        version,
    )


def check_new_task(session: Session) -> None:
    """Checks a new task without options, from its start to its notification."""
    checks, page, origin = session.checks, session.page, session.origin
    gid = page.call("aria2.addUri", [origin.file("ariang-default.bin", SIZE)], {})
    checks.holds("new task: addUri without options answers a GID", isinstance(gid, str) and len(gid) == 16, gid)
    session.status(gid, "complete")
    task = page.call("aria2.tellStatus", gid)
    path = Path(task["files"][0]["path"])
    checks.equal("new task: the file is in the server's folder", task["dir"], str(path.parent))
    checks.equal("new task: the file has the origin's content", content("ariang-default.bin", SIZE), path.read_bytes())
    path.unlink()
    checks.becomes(
        "new task: a start and a completion are notified",
        [["aria2.onDownloadStart", gid], ["aria2.onDownloadComplete", gid]],
        lambda: [note for note in page.notifications() if note[1] == gid],
    )
    shown = page.read(task)
    checks.equal(
        "details page: a complete task reads as complete",
        ("complete", "ariang-default.bin", SIZE, 100, 1, False, "0"),
        (
            shown["status"],
            shown["name"],
            shown["total"],
            shown["percent"],
            shown["selectedFiles"],
            shown["torrent"],
            shown["errorCode"],
        ),
    )
    checks.equal("details page: a complete task has all its pieces", shown["pieces"], shown["completedPieces"])


def check_list(session: Session) -> None:
    """Checks the list pages, which ask once for all keys and then every second for the basic ones."""
    checks, page = session.checks, session.page
    gids = page.call_all(
        *(("aria2.addUri", [session.slow(f"list-{n}.bin")], {"dir": str(session.folder)}) for n in range(3))
    )
    checks.equal("new task: three links make three tasks", 3, len(set(gids)))
    for gid in gids:
        session.rpc.wait_for_bytes(gid)
    full = page.call("aria2.tellActive", FULL_KEYS)
    checks.equal("list: tellActive has the tasks in their order", gids, [task["gid"] for task in full])
    shown = [page.read(task) for task in full]
    checks.equal(
        "list: the tasks have their names", [f"list-{n}.bin" for n in range(3)], [task["name"] for task in shown]
    )
    numbers = [task[key] for task in shown for key in ("total", "downloadSpeed", "uploadSpeed", "connections")]
    checks.equal("list: the numbers are numbers", [], [n for n in numbers if not isinstance(n, int)])
    checks.holds("list: the progress is between 0 and 100", all(0 < task["percent"] < 100 for task in shown), shown)
    checks.equal("list: a task with one link has a link to copy", session.slow("list-0.bin"), shown[0]["singleUrl"])
    basic, stat = page.call_all(("aria2.tellActive", BASIC_KEYS), ("aria2.getGlobalStat",))
    checks.equal("list: the second round has the same tasks", gids, [task["gid"] for task in basic])
    checks.equal(
        "list: the second round has no other keys", set(), {key for task in basic for key in task} - set(BASIC_KEYS)
    )
    checks.equal("list: getGlobalStat counts the tasks", ("3", "0"), (stat["numActive"], stat["numWaiting"]))
    checks.becomes(
        "list: getGlobalStat has a speed", True, lambda: int(page.call("aria2.getGlobalStat")["downloadSpeed"]) > 0
    )
    before = int(basic[0]["completedLength"])
    checks.becomes(
        "list: the progress grows from round to round",
        True,
        lambda: int(page.call("aria2.tellActive", BASIC_KEYS)[0]["completedLength"]) > before,
    )


def check_details(session: Session) -> None:
    """Checks the details page of an active task."""
    checks, page = session.checks, session.page
    gid = session.add(session.slow("details.bin"))
    session.rpc.wait_for_bytes(gid)
    shown = page.read(page.call("aria2.tellStatus", gid))
    checks.equal(
        "details page: an active task reads as active",
        ("active", "details.bin", SLOW_SIZE),
        (shown["status"], shown["name"], shown["total"]),
    )
    checks.holds(
        "details page: the pieces cover the file",
        (shown["pieces"] or 0) * (shown["pieceLength"] or 0) >= SLOW_SIZE,
        shown,
    )
    checks.holds(
        "details page: the bitfield has no more pieces than there are",
        0 <= shown["completedPieces"] <= shown["pieces"],
        shown,
    )
    several = page.call("system.multicall", [{"methodName": "aria2.tellStatus", "params": [page.token, gid]}])
    checks.equal("details page: the refresh by multicall has the task", gid, several[0][0]["gid"])
    servers = page.call("aria2.getServers", gid)
    checks.equal(
        "details page: getServers names the server", session.slow("details.bin"), servers[0]["servers"][0]["currentUri"]
    )
    peers = page.answer("aria2.getPeers", gid)
    checks.holds(
        "details page: getPeers of a task without peers is an empty list or an error",
        peers.get("result") == [] or peers["error"]["code"] == 1,
        peers,
    )
    options = page.call("aria2.getOption", gid)
    checks.equal(
        "details page: getOption has the options that the page shows",
        [],
        [key for key in ("dir", "split", "max-download-limit", "max-tries") if key not in options],
    )
    checks.equal(
        "details page: changeOption answers OK",
        "OK",
        page.call("aria2.changeOption", gid, {"max-download-limit": "1M"}),
    )
    checks.equal(
        "details page: getOption has the change in bytes",
        "1048576",
        page.call("aria2.getOption", gid)["max-download-limit"],
    )
    unknown = page.answer("aria2.tellStatus", UNKNOWN_GID)
    checks.equal(
        "details page: an unknown task is an error with a message",
        (1, True),
        (unknown["error"]["code"], "not found" in unknown["error"]["message"]),
    )


def check_selected(session: Session) -> None:
    """Checks pausing, starting and removing the selected tasks, which AriaNg does for all of them at once."""
    checks, page = session.checks, session.page
    gids = [session.add(session.slow(f"selected-{n}.bin")) for n in range(2)]
    for gid in gids:
        session.rpc.wait_for_bytes(gid)
    checks.equal(
        "pause selected: forcePause answers the GIDs", gids, page.call_all(*(("aria2.forcePause", g) for g in gids))
    )
    for gid in gids:
        session.status(gid, "paused")
    waiting = page.call("aria2.tellWaiting", 0, 1000, FULL_KEYS)
    checks.equal(
        "waiting list: the paused tasks are there",
        (set(gids), {"paused"}),
        ({task["gid"] for task in waiting}, {task["status"] for task in waiting}),
    )
    checks.equal("start selected: unpause answers the GIDs", gids, page.call_all(*(("aria2.unpause", g) for g in gids)))
    for gid in gids:
        session.status(gid, "active")
    checks.equal(
        "a start is notified again after a pause",
        4,
        sum(1 for method, gid in page.notifications() if gid in gids and method == "aria2.onDownloadStart"),
    )
    done = session.add(session.origin.file("selected-done.bin", 100))
    session.status(done, "complete")
    removed = page.call_all(*(("aria2.forceRemove", g) for g in gids), ("aria2.removeDownloadResult", done))
    checks.equal("remove selected: running and stopped tasks are removed", [*gids, "OK"], removed)
    for gid in gids:
        session.status(gid, "removed")
    stopped = page.call("aria2.tellStopped", -1, 1000, FULL_KEYS)
    checks.equal("stopped list: the removed tasks are there", set(gids), {task["gid"] for task in stopped})
    checks.equal("clear stopped: purgeDownloadResult answers OK", "OK", page.call("aria2.purgeDownloadResult"))
    checks.equal("clear stopped: the list is empty", [], page.call("aria2.tellStopped", -1, 1000, BASIC_KEYS))


def check_positions(session: Session) -> None:
    """Checks tasks that are added paused and dragged to another place."""
    checks, page = session.checks, session.page
    a, b, c = (session.add(session.slow(f"drag-{n}.bin"), pause="true") for n in "abc")
    answers = page.answer("aria2.changePosition", c, 1, "POS_SET")
    checks.equal("drag: changePosition answers the place", 1, answers.get("result"))
    order = [task["gid"] for task in page.call("aria2.tellWaiting", 0, 1000, BASIC_KEYS)]
    checks.equal("drag: the list has the new order", [a, c, b], order)
    checks.equal("drag: the first place is 0", 0, page.answer("aria2.changePosition", b, 0, "POS_SET").get("result"))
    full = page.call("aria2.tellWaiting", 0, 1000, FULL_KEYS)
    checks.equal(
        "waiting list: a task that never started has a name",
        ["drag-b.bin", "drag-a.bin", "drag-c.bin"],
        [page.read(task)["name"] for task in full],
    )


def check_retry(session: Session) -> None:
    """Checks AriaNg's retry, which adds the task again with all the options that getOption answered."""
    checks, page, origin = session.checks, session.page, session.origin
    gid = session.add(origin.later("ariang", "retry.bin", SIZE), out="retried.bin")
    session.status(gid, "error")
    checks.becomes("an error is notified", True, lambda: ["aria2.onDownloadError", gid] in page.notifications())
    shown = page.read(page.call("aria2.tellStopped", -1, 1000, FULL_KEYS)[0])
    checks.equal(
        "stopped list: a failed task has its error code and its link",
        ("error", "3", origin.later("ariang", "retry.bin", SIZE)),
        (shown["status"], shown["errorCode"], shown["singleUrl"]),
    )
    origin.release("ariang")
    calls = [{"methodName": name, "params": [page.token, gid]} for name in ("aria2.tellStatus", "aria2.getOption")]
    (task,), (options,) = page.call("system.multicall", calls)
    again = page.call("aria2.addUri", [entry["uri"] for entry in task["files"][0]["uris"]], options)
    checks.holds("retry: addUri takes all options of getOption", isinstance(again, str), again)
    checks.equal("retry: the new task completes", "complete", session.status(again, "complete"))
    checks.equal(
        "retry: the file has the origin's content",
        content("retry.bin", SIZE),
        (session.folder / "retried.bin").read_bytes(),
    )
    checks.equal("retry: the old task is removed", "OK", page.call("aria2.removeDownloadResult", gid))


def check_settings(session: Session) -> None:
    """Checks the settings pages."""
    checks, page = session.checks, session.page
    options = page.call("aria2.getGlobalOption")
    checks.equal(
        "settings: getGlobalOption has the options of the first pages",
        [],
        [key for key in SETTINGS if key not in options],
    )
    checks.equal(
        "settings: the values are strings", [], [key for key, value in options.items() if not isinstance(value, str)]
    )
    limit = options["max-overall-download-limit"]
    checks.equal(
        "settings: changeGlobalOption answers OK",
        "OK",
        page.call("aria2.changeGlobalOption", {"max-overall-download-limit": "2M"}),
    )
    checks.equal(
        "settings: the change is read in bytes",
        "2097152",
        page.call("aria2.getGlobalOption")["max-overall-download-limit"],
    )
    page.call("aria2.changeGlobalOption", {"max-overall-download-limit": limit})
    wrong = page.answer("aria2.changeGlobalOption", {"max-concurrent-downloads": "many"})
    checks.holds("settings: a wrong value is an error with a message", wrong.get("error", {}).get("message"), wrong)
    saved = page.answer("aria2.saveSession")
    checks.holds(
        "status page: saveSession answers OK or an error",
        saved.get("result") == "OK" or saved["error"]["code"] == 1,
        saved,
    )


def check_secret(session: Session) -> None:
    """Checks the message that AriaNg looks for when the secret is wrong."""
    checks, page = session.checks, session.page
    right, page.token = page.token, "token:wrong"
    try:
        answer = page.answer("aria2.getGlobalStat")
    finally:
        page.token = right
    checks.equal("a wrong secret is the error Unauthorized", "Unauthorized", answer.get("error", {}).get("message"))
    checks.contains("the connection works after a wrong secret", "version", page.call("aria2.getVersion"))


def check_http(session: Session) -> None:
    """Checks AriaNg's other protocol, HTTP from a page of another origin."""
    checks, page, url = session.checks, session.page, session.options.rpc
    posted = page.run("page.post(given[0], given[1], given[2])", url, "aria2.getVersion", [page.token])
    got = page.run("page.get(given[0], given[1], given[2])", url, "aria2.getVersion", [page.token])
    if session.options.cors:
        checks.holds("HTTP: a POST after a preflight is answered", "version" in posted.get("result", {}), posted)
        checks.holds("HTTP: a GET is answered", "version" in got.get("result", {}), got)
        wrong = page.run("page.post(given[0], given[1], given[2])", url, "aria2.getVersion", ["token:wrong"])
        checks.equal("HTTP: the page can read an error", "Unauthorized", wrong.get("error", {}).get("message"))
    else:
        checks.contains("HTTP: the browser blocks a POST of a foreign page", "blocked", posted)
        checks.contains("HTTP: the browser blocks the answer to a GET of a foreign page", "blocked", got)


def check_end(session: Session) -> None:
    """Checks what the connection of the whole replay left."""
    checks, driver = session.checks, session.page.driver
    checks.equal("the page got no message that it cannot place", [], driver.execute_script("return page.strays"))
    checks.equal("no request is without an answer", 0, driver.execute_script("return page.pending.size"))
    checks.equal("the connection stayed open", False, driver.execute_script("return page.closed"))


def check_file(session: Session, html: Path) -> None:
    """Checks a page from a file, like AriaNg's all-in-one build. Its Origin header is `null` or `file://`."""
    checks, page = session.checks, session.page
    checks.equal("a page from a file connects", "open", page.open(html.as_uri(), session.options.rpc))
    checks.contains("a page from a file is answered", "numActive", page.call("aria2.getGlobalStat"))


SECTIONS = [
    check_start,
    check_new_task,
    check_list,
    check_details,
    check_selected,
    check_positions,
    check_retry,
    check_settings,
    check_secret,
    check_http,
    check_end,
]


@contextlib.contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Runs a headless Chromium with a profile of its own. It ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        for word in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-extensions",
            "--no-proxy-server",
            f"--user-data-dir={profile}",
        ):
            options.add_argument(word)
        service = Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            driver.set_script_timeout(WAIT_SECONDS)
            driver.set_page_load_timeout(WAIT_SECONDS)
            yield driver
        finally:
            driver.quit()


def main() -> int:
    """Runs all sections in one page, then the page from a file."""
    options = arguments(
        __doc__,
        ("--cors", {"action": "store_true", "help": "the server allows foreign origins"}),
        ("--pages", {"type": int, "default": 0, "help": "the port of the server with the page (default: any)"}),
    )
    checks = Checks(minimum=60)
    html = Path(__file__).with_name("ariang_page.html")
    with Origin(options.pages) as origin, browser() as driver:
        session = Session(options, origin, Page(driver, options.secret), checks)
        session.rpc.clear()
        url = origin.page("ariang.html", html.read_text())
        checks.equal("a page of another origin connects by WebSocket", "open", session.page.open(url, options.rpc))
        for section in SECTIONS:
            with checks.section(section.__name__):
                session.rpc.clear()
                section(session)
        with checks.section("check_file"):
            check_file(session, html)
        session.rpc.clear()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
