#!/usr/bin/env python3
"""Drives an aria2 RPC server with the PyPI package aioaria2, over HTTP and over WebSocket, and checks the results.

    try_aioaria2.py --rpc http://127.0.0.1:6800/jsonrpc --secret SECRET --dir DIR [--shutdown]

Each check prints `ok NAME` or `FAILED NAME: expected … got …`. The exit code is 1 if a check failed.
The server's list of downloads must be free for the test: the program removes all downloads.
With --shutdown the last check ends the server.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aioaria2 import Aria2HttpClient, Aria2rpcException, Aria2WebsocketClient, run_sync

from common import (
    POLL_SECONDS,
    WAIT_SECONDS,
    Checks,
    Rpc,
    TimedOut,
    address,
    arguments,
    listens,
    new_folder,
    websocket_url,
)
from origin import Origin, content

SIZE = 200_000
SLOW_SIZE = 4_000_000
SLOW_RATE = 100_000
UNKNOWN_GID = "00000000deadbeef"
Client = Aria2HttpClient | Aria2WebsocketClient


async def until(what: str, read: Callable[[], Awaitable[Any]], seconds: float = WAIT_SECONDS) -> Any:
    """Polls an asynchronous condition until it is true. Raises `TimedOut` at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = await read()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimedOut(f"{what}: not within {seconds} s")
        await asyncio.sleep(POLL_SECONDS)


class Session:
    """The objects that the sections of one transport use."""

    def __init__(self, transport: str, options: Any, origin: Origin, checks: Checks) -> None:
        self.transport = transport
        self.rpc_url: str = options.rpc
        self.secret: str = options.secret
        self.folder: Path = new_folder(options.dir, f"aioaria2-{transport}")
        self.origin = origin
        self.checks = checks
        self.client: Any

    async def connect(self, secret: str | None = None, mode: str = "normal") -> Client:
        """Makes a client, as users of aioaria2 do."""
        token = self.secret if secret is None else secret
        if self.transport == "http":
            return Aria2HttpClient(self.rpc_url, token=token, mode=mode)  # type: ignore[arg-type]
        url = websocket_url(self.rpc_url)
        return await Aria2WebsocketClient.new(url, token=token, mode=mode, max_attempts=1)  # type: ignore[arg-type]

    def options(self, **more: Any) -> dict[str, Any]:
        """Returns options for a new download. Underscores become hyphens."""
        return {"dir": str(self.folder), **{name.replace("_", "-"): value for name, value in more.items()}}

    async def slow(self, name: str, **more: Any) -> str:
        """Adds a download that lasts for about 40 seconds."""
        return await self.client.addUri([self.origin.slow(name, SLOW_SIZE, SLOW_RATE)], self.options(**more))

    async def status(self, gid: str, *statuses: str) -> str:
        """Waits until a download has one of these statuses, and returns it."""

        async def arrived() -> str | None:
            now = await self.client.get_status(gid)
            return now if now in statuses else None

        return await until(f"{gid} to be {statuses}", arrived)

    async def bytes_of(self, gid: str) -> int:
        """Returns how many bytes a download has."""
        return int((await self.client.tellStatus(gid, ["completedLength"]))["completedLength"])

    def equal(self, name: str, expected: object, got: object) -> None:
        """Checks a value. The name gets the transport in front."""
        self.checks.equal(f"{self.transport}: {name}", expected, got)

    def holds(self, name: str, condition: object, got: object = None) -> None:
        """Checks a condition. The name gets the transport in front."""
        self.checks.holds(f"{self.transport}: {name}", condition, got)

    async def refused(self, name: str, call: Awaitable[Any], text: str) -> None:
        """Checks that a call raises the library's exception with a text of the server in it."""
        try:
            got: object = await call
        except Aria2rpcException as error:
            got = str(error)
            self.checks.holds(f"{self.transport}: {name}", text in str(error), got, f"an error with {text!r}")
        else:
            self.checks.holds(f"{self.transport}: {name}", False, got, f"an error with {text!r}")


async def check_server(session: Session) -> None:
    """Checks the methods that describe the server."""
    client = session.client
    version = await client.getVersion()
    session.holds("getVersion names a version", version["version"][0].isdigit(), version)
    session.equal("getVersion lists features", list, type(version["enabledFeatures"]))
    info = await client.getSessionInfo()
    session.equal("getSessionInfo has the session id only", ["sessionId"], list(info))
    methods = await client.listMethods()
    session.holds("listMethods has 36 methods or more", len(set(methods)) >= 36, len(methods))
    session.holds(
        "listMethods has aria2.addUri and system.multicall",
        {"aria2.addUri", "system.multicall"} <= set(methods),
        methods,
    )
    session.equal("listNotifications has six notifications", 6, len(await client.listNotifications()))
    stat = await client.getGlobalStat()
    session.equal(
        "getGlobalStat has its six keys",
        ["downloadSpeed", "numActive", "numStopped", "numStoppedTotal", "numWaiting", "uploadSpeed"],
        sorted(stat),
    )
    session.equal(
        "the values of getGlobalStat are strings of digits", [], [v for v in stat.values() if not v.isdigit()]
    )


async def check_download(session: Session) -> None:
    """Checks a download from its start to its end."""
    client, origin = session.client, session.origin
    url = origin.file("plain.bin", SIZE)
    gid = await client.addUri([url], session.options())
    session.holds("addUri answers a GID", len(gid) == 16 and int(gid, 16) >= 0, gid)
    session.equal("the download becomes complete", "complete", await session.status(gid, "complete", "error"))
    session.equal(
        "the file has the origin's content", content("plain.bin", SIZE), (session.folder / "plain.bin").read_bytes()
    )
    told = await client.tellStatus(gid)
    session.equal(
        "tellStatus has strings for its plain values",
        [],
        [key for key, value in told.items() if not isinstance(value, (str, list))],
    )
    session.equal(
        "tellStatus has the lengths",
        (str(SIZE), str(SIZE), "0"),
        (told["totalLength"], told["completedLength"], told["uploadLength"]),
    )
    session.equal("tellStatus has the folder", str(session.folder), told["dir"])
    session.equal("a complete download has error code 0", "0", told["errorCode"])
    few = await client.tellStatus(gid, ["status", "gid", "noSuchKey"])
    session.equal("tellStatus with keys has these keys only", {"gid": gid, "status": "complete"}, few)
    session.equal("get_status answers the status", "complete", await client.get_status(gid))
    files = await client.getFiles(gid)
    session.equal(
        "getFiles has the file",
        [("1", str(session.folder / "plain.bin"), str(SIZE), str(SIZE), "true", url)],
        [(f["index"], f["path"], f["length"], f["completedLength"], f["selected"], f["uris"][0]["uri"]) for f in files],
    )
    session.equal("tellStatus and getFiles agree", told["files"], files)
    stopped = await client.tellStopped(-1, 1, ["gid"])
    session.equal("tellStopped from the end has the newest", [{"gid": gid}], stopped)
    session.equal("removeDownloadResult answers OK", "OK", await client.removeDownloadResult(gid))
    await session.refused("a removed result is unknown", client.tellStatus(gid), "is not found")
    session.equal(
        "get_statuses answers error for an unknown GID", ["error"], [s async for s in client.get_statuses([gid])]
    )


async def check_control(session: Session) -> None:
    """Checks pausing, resuming and removing."""
    client = session.client
    gid = await session.slow("control.bin")

    async def arrives() -> bool:
        return await session.bytes_of(gid) > 0

    await until("bytes", arrives)
    session.equal("tellActive has the download", [gid], [d["gid"] for d in await client.tellActive()])
    uris = await client.getUris(gid)
    url = session.origin.slow("control.bin", SLOW_SIZE, SLOW_RATE)
    session.equal("getUris has the URI in use", [{"status": "used", "uri": url}], uris[:1])
    servers = await client.getServers(gid)
    session.equal(
        "getServers names the file and the URI",
        ("1", url),
        (servers[0]["index"], servers[0]["servers"][0]["currentUri"]),
    )
    session.holds("getServers has a speed", servers[0]["servers"][0]["downloadSpeed"].isdigit(), servers)
    session.equal("pause answers the GID", gid, await client.pause(gid))
    session.equal("a paused download becomes paused", "paused", await session.status(gid, "paused"))
    await session.refused("pausing twice is refused", client.pause(gid), "cannot be paused now")
    session.equal("unpause answers the GID", gid, await client.unpause(gid))
    session.equal("a resumed download becomes active", "active", await session.status(gid, "active"))
    await session.refused("unpausing an active download is refused", client.unpause(gid), "cannot be unpaused now")
    await session.refused(
        "removing the result of an active download is refused",
        client.removeDownloadResult(gid),
        "Could not remove download result",
    )
    session.equal("forcePause answers the GID", gid, await client.forcePause(gid))
    await session.status(gid, "paused")
    await session.refused("getServers of a paused download is refused", client.getServers(gid), "No active download")
    session.equal("remove answers the GID", gid, await client.remove(gid))
    await session.refused("a paused download that is removed leaves no result", client.tellStatus(gid), "is not found")
    forced = await session.slow("forced.bin")
    session.equal("forceRemove answers the GID", forced, await client.forceRemove(forced))
    session.equal(
        "a download that is removed by force becomes removed", "removed", await session.status(forced, "removed")
    )
    await session.refused("removing twice is refused", client.remove(forced), "not found")
    session.equal("the result of a removed download can be removed", "OK", await client.removeDownloadResult(forced))


async def check_all(session: Session) -> None:
    """Checks the methods that change all downloads."""
    client = session.client
    gids = [await session.slow("all-1.bin"), await session.slow("all-2.bin")]

    async def statuses() -> list[str]:
        return [await client.get_status(gid) for gid in gids]

    async def become(status: str) -> list[str]:
        async def arrived() -> list[str] | None:
            now = await statuses()
            return now if now == [status] * 2 else None

        return await until(f"all to be {status}", arrived)

    session.equal("pauseAll answers OK", "OK", await client.pauseAll())
    session.equal("pauseAll pauses all", ["paused"] * 2, await become("paused"))
    session.equal("unpauseAll answers OK", "OK", await client.unpauseAll())
    session.equal("unpauseAll resumes all", ["active"] * 2, await become("active"))
    session.equal("forcePauseAll answers OK", "OK", await client.forcePauseAll())
    session.equal("forcePauseAll pauses all", ["paused"] * 2, await become("paused"))
    session.equal(
        "get_statuses answers in order",
        ["paused", "error", "paused"],
        [status async for status in client.get_statuses([gids[0], UNKNOWN_GID, gids[1]])],
    )


async def check_queue(session: Session) -> None:
    """Checks the queue of waiting downloads, and positions in it."""
    client = session.client
    a = await session.slow("queue-a.bin", pause="true")
    b = await session.slow("queue-b.bin", pause="true")
    c = await client.addUri(
        [session.origin.slow("queue-c.bin", SLOW_SIZE, SLOW_RATE)], session.options(pause="true"), 0
    )

    async def order(offset: int = 0, count: int = 10) -> list[str]:
        names = {a: "a", b: "b", c: "c"}
        return [names[d["gid"]] for d in await client.tellWaiting(offset, count, ["gid"])]

    session.equal("addUri with position 0 is first", ["c", "a", "b"], await order())
    session.equal("changePosition POS_SET answers the position", 1, await client.changePosition(c, 1, "POS_SET"))
    session.equal("POS_SET moves", ["a", "c", "b"], await order())
    session.equal("changePosition POS_CUR answers the position", 0, await client.changePosition(b, -2, "POS_CUR"))
    session.equal("POS_CUR moves", ["b", "a", "c"], await order())
    session.equal("changePosition POS_END answers the position", 1, await client.changePosition(b, -1, "POS_END"))
    session.equal("POS_END moves", ["a", "b", "c"], await order())
    session.equal("tellWaiting has a window", ["b"], await order(1, 1))
    session.equal("tellWaiting counts from the end", ["c", "b"], await order(-1, 2))
    await session.refused("a bad way to move is refused", client.changePosition(a, 0, "POS_BAD"), "Illegal argument")
    await session.refused("moving an unknown GID is refused", client.changePosition(UNKNOWN_GID, 0, "POS_SET"), "")


async def check_options(session: Session) -> None:
    """Checks options of downloads and of the server."""
    client = session.client
    gid = await session.slow("options.bin", pause="true", max_download_limit="20K", header=["X-A: 1", "X-B: 2"])
    options = await client.getOption(gid)
    session.equal("getOption has the limit in bytes", "20480", options["max-download-limit"])
    session.equal("getOption has strings", [], [key for key, value in options.items() if not isinstance(value, str)])
    session.equal(
        "changeOption answers OK", "OK", await client.changeOption(gid, {"max-download-limit": "1M", "out": "o2"})
    )
    changed = await client.getOption(gid)
    session.equal("changeOption changes", ("1048576", "o2"), (changed["max-download-limit"], changed["out"]))
    await session.refused("changeOption refuses a bad value", client.changeOption(gid, {"split": "none"}), "")
    everything = await client.getGlobalOption()
    session.holds(
        "getGlobalOption has the main options",
        {"dir", "max-concurrent-downloads", "split", "max-overall-download-limit"} <= set(everything),
        everything,
    )
    limit = everything["max-overall-download-limit"]
    session.equal(
        "changeGlobalOption answers OK", "OK", await client.changeGlobalOption({"max-overall-download-limit": "3M"})
    )
    session.equal(
        "changeGlobalOption changes", "3145728", (await client.getGlobalOption())["max-overall-download-limit"]
    )
    await client.changeGlobalOption({"max-overall-download-limit": limit})
    added = [f"http://127.0.0.1:9/{n}" for n in (1, 2)]
    first = session.origin.slow("options.bin", SLOW_SIZE, SLOW_RATE)
    session.equal("changeUri counts removals and additions", [1, 2], await client.changeUri(gid, 1, [first], added))
    session.equal("changeUri changes the URIs", added, [u["uri"] for u in await client.getUris(gid)])
    session.equal("changeUri adds at a position", [0, 1], await client.changeUri(gid, 1, [], [first], 0))
    session.equal("the added URI is first", [first, *added], [u["uri"] for u in await client.getUris(gid)])


async def check_refusals(session: Session) -> None:
    """Checks calls that the server refuses."""
    client = session.client
    await session.refused("addUri without URIs is refused", client.addUri([]), "URI is not provided")
    await session.refused("addTorrent of garbage is refused", client.addTorrent("Z2FyYmFnZQ=="), "")
    await session.refused("addMetalink of garbage is refused", client.addMetalink("Z2FyYmFnZQ=="), "")  # type: ignore
    await session.refused("an unknown method is refused", client.jsonrpc("noSuchMethod"), "aria2.noSuchMethod")
    await session.refused("an unknown GID is refused", client.tellStatus(UNKNOWN_GID), "is not found")
    await session.refused("a GID that is not hexadecimal is refused", client.tellStatus("xyz"), "Invalid GID")
    garbage = session.folder / "garbage.torrent"
    garbage.write_bytes(b"garbage")
    await session.refused("add_torrent of a garbage file is refused", client.add_torrent(str(garbage)), "")
    await session.refused("add_metalink of a garbage file is refused", client.add_metalink(str(garbage)), "")
    stranger = await session.connect(secret="wrong")
    try:
        await session.refused("a wrong secret is refused", stranger.getVersion(), "Unauthorized")
        session.holds("system.listMethods needs no secret", "aria2.addUri" in await list_without_secret(session))
    finally:
        await stranger.close()


async def list_without_secret(session: Session) -> list[str]:
    """Returns the methods for a client without a secret."""
    client = await session.connect()
    client.token = None
    try:
        return await client.listMethods()
    finally:
        await client.close()


async def check_many(session: Session) -> None:
    """Checks multicall, the queue of aioaria2's mode `batch`, its mode `format`, and calls at the same time."""
    client = session.client
    answers = await client.multicall(
        [
            {"methodName": "aria2.getVersion"},
            {"methodName": "aria2.tellStatus", "params": [UNKNOWN_GID]},
            {"methodName": "aria2.addUri", "params": [[session.origin.file("multi.bin", 3000)], session.options()]},
        ]
    )
    session.equal("multicall answers each call", 3, len(answers))
    session.holds("multicall wraps a result in a list", "version" in answers[0][0], answers)
    session.holds(
        "multicall has an error for a failed call",
        answers[1]["code"] == 1 and "not found" in answers[1]["message"],
        answers,
    )
    session.equal("multicall adds a download", "complete", await session.status(answers[2][0], "complete"))
    session.equal(
        "the added file has the origin's content",
        content("multi.bin", 3000),
        (session.folder / "multi.bin").read_bytes(),
    )
    many = await asyncio.gather(*(client.getGlobalStat() for _ in range(50)), client.getVersion())
    session.equal("51 calls at the same time are answered", (51, True), (len(many), "version" in many[-1]))
    batch = await session.connect(mode="batch")
    try:
        await batch.getVersion()
        await batch.getSessionInfo()
        results = await batch.process_queue()
        session.equal(
            "mode batch sends its queue in order", [True, True], ["version" in results[0], "sessionId" in results[1]]
        )
        batch.mode = "format"
        formatted: Any = await batch.tellStatus(UNKNOWN_GID, ["gid"])
        batch.mode = "normal"
        formatted["params"][1] = await session.client.addUri([session.origin.file("f", 10)], session.options())
        session.equal(
            "mode format makes a request that works",
            {"gid": formatted["params"][1]},
            await batch.send_request(formatted),
        )
    finally:
        await batch.close()


async def check_errors(session: Session) -> None:
    """Checks downloads that fail, and purging."""
    client, origin = session.client, session.origin
    missing = await client.addUri([origin.missing("m")], session.options())
    private = await client.addUri([origin.private("p", 10, "u", "p")], session.options())
    summed = await client.addUri([origin.file("s", 10)], session.options(checksum="md5=" + "0" * 32))
    for gid in (missing, private, summed):
        await session.status(gid, "error")
    codes = [(await client.tellStatus(gid, ["errorCode"]))["errorCode"] for gid in (missing, private, summed)]
    session.equal("errors have aria2's codes", ["3", "24", "32"], codes)
    told = await client.tellStatus(missing, ["errorMessage"])
    session.holds("an error has a message", told.get("errorMessage"), told)
    session.equal("getGlobalStat counts stopped downloads", "3", (await client.getGlobalStat())["numStopped"])
    session.equal("purgeDownloadResult answers OK", "OK", await client.purgeDownloadResult())
    session.equal("purgeDownloadResult purges", [], await client.tellStopped(0, 10))
    try:
        saved = await client.saveSession()
    except Aria2rpcException as error:
        saved = "refused" if "Filename is not given" in str(error) else str(error)  # type: ignore[assignment]
    session.holds("saveSession is accepted, or refused for want of a file", saved in ("OK", "refused"), saved)
    gid = await session.slow("peers.bin", pause="true")
    await session.refused(
        "getPeers of a download that is not active is refused or empty", nothing(client.getPeers(gid)), ""
    )


async def nothing(call: Awaitable[Any]) -> Any:
    """Raises the library's exception for an empty list too. Both mean that there are no peers."""
    peers = await call
    if peers == []:
        raise Aria2rpcException("no peers")
    return peers


async def check_notifications(session: Session) -> None:
    """Checks the callbacks of the WebSocket client, for changes that another client makes."""
    heard: list[tuple[str, str]] = []
    listener = await Aria2WebsocketClient.new(websocket_url(session.rpc_url), token=session.secret)
    kinds = ["Start", "Pause", "Stop", "Complete", "Error"]

    def noting(kind: str) -> Callable[[Aria2WebsocketClient, dict[str, Any]], Awaitable[None]]:
        async def note(_: Aria2WebsocketClient, data: dict[str, Any]) -> None:
            heard.append((kind, data["params"][0]["gid"]))
            shapes.append(sorted(data))

        return note

    shapes: list[list[str]] = []
    callbacks = {kind: noting(kind) for kind in kinds}
    for kind, callback in callbacks.items():
        getattr(listener, f"onDownload{kind}")(callback)
    synchronous: list[str] = []
    listener.onDownloadComplete(run_sync(lambda _, data: synchronous.append(data["params"][0]["gid"])))
    try:
        await listen(session, heard)
        session.equal(
            "notifications have jsonrpc, method and params", [["jsonrpc", "method", "params"]] * len(shapes), shapes
        )
        session.holds("a synchronous callback is called", synchronous, synchronous)
        listener.unregister(callbacks["Complete"], "aria2.onDownloadComplete")
        before, count = len(synchronous), sum(1 for kind, _ in heard if kind == "Complete")
        await session.client.addUri([session.origin.file("unregistered", 10)], session.options())

        async def called() -> bool:
            return len(synchronous) > before

        await until("the remaining callback", called)
        session.equal(
            "an unregistered callback is not called", count, sum(1 for kind, _ in heard if kind == "Complete")
        )
        session.equal("a listener's own calls are answered too", True, "version" in await listener.getVersion())
        session.equal("a client that is open is not closed", False, listener.closed)
    finally:
        await listener.close()
    session.equal("a closed client is closed", True, listener.closed)


async def listen(session: Session, heard: list[tuple[str, str]]) -> None:
    """Changes downloads and checks what was heard of it."""
    client = session.client

    async def hears(*expected: tuple[str, str]) -> bool:
        async def arrived() -> bool:
            return [note for note in heard if note[1] == expected[0][1]] == list(expected)

        try:
            return await until(f"{expected}", arrived)
        except TimedOut:
            return False

    gid = await session.slow("heard.bin")
    session.holds("a start is heard", await hears(("Start", gid)), heard)
    await client.pause(gid)
    session.holds("a pause is heard", await hears(("Start", gid), ("Pause", gid)), heard)
    await client.unpause(gid)
    session.holds(
        "a resumption is heard as a start", await hears(("Start", gid), ("Pause", gid), ("Start", gid)), heard
    )
    await client.forceRemove(gid)
    session.holds(
        "a removal is heard as a stop",
        await hears(("Start", gid), ("Pause", gid), ("Start", gid), ("Stop", gid)),
        heard,
    )
    done = await client.addUri([session.origin.file("heard-2.bin", 100)], session.options())
    session.holds("a completion is heard", await hears(("Start", done), ("Complete", done)), heard)
    failed = await client.addUri([session.origin.missing("heard")], session.options())
    session.holds("an error is heard", await hears(("Start", failed), ("Error", failed)), heard)
    waiting = await session.slow("heard-3.bin", pause="true")
    await client.remove(waiting)
    last = await client.addUri([session.origin.file("heard-4.bin", 100)], session.options())
    session.holds("the next download is heard", await hears(("Start", last), ("Complete", last)), heard)
    session.equal("the removal of a paused download is not heard", [], [note for note in heard if note[1] == waiting])


SECTIONS = [
    check_server,
    check_download,
    check_control,
    check_all,
    check_queue,
    check_options,
    check_refusals,
    check_many,
    check_errors,
    check_notifications,
]


async def try_transport(transport: str, options: Any, origin: Origin, checks: Checks) -> None:
    """Runs all sections with a client of one transport."""
    session = Session(transport, options, origin, checks)
    rpc = Rpc(options.rpc, options.secret)
    for section in SECTIONS:
        with checks.section(f"{transport}: {section.__name__}"):
            await asyncio.to_thread(rpc.clear)
            session.client = await session.connect()
            try:
                await section(session)
            finally:
                await session.client.close()
    await asyncio.to_thread(rpc.clear)


async def check_shutdown(options: Any, checks: Checks) -> None:
    """Checks that the server ends."""
    port = address(options.rpc)[1]
    async with Aria2HttpClient(options.rpc, token=options.secret) as client:
        checks.equal("shutdown answers OK", "OK", await client.shutdown())
    checks.becomes("the server no longer listens after a shutdown", False, lambda: listens(port))


async def run() -> int:
    """Runs all sections with both transports."""
    options = arguments(__doc__, ("--shutdown", {"action": "store_true", "help": "end the server at the end"}))
    checks = Checks(minimum=170)
    with Origin() as origin:
        for transport in ("http", "websocket"):
            await try_transport(transport, options, origin, checks)
        if options.shutdown:
            await check_shutdown(options, checks)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))
