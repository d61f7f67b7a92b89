#!/usr/bin/env python3
"""Drives an aria2 RPC server with the PyPI package aria2p, its library and its command line, and checks the results.

    try_aria2p.py --rpc http://127.0.0.1:6800/jsonrpc --secret SECRET --dir DIR

Each check prints `ok NAME` or `FAILED NAME: expected … got …`. The exit code is 1 if a check failed.
The server's list of downloads must be free for the test: the program removes all downloads.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import aria2p
from aria2p import NOTIFICATION_TYPES

from common import WAIT_SECONDS, Checks, Rpc, address, arguments, free_port, new_folder, process, tool, wait_for
from origin import Origin, content

SIZE = 300_000
SLOW_SIZE = 4_000_000
SLOW_RATE = 100_000
UNKNOWN_GID = "00000000deadbeef"


class Session:
    """The objects that all sections use."""

    def __init__(self, rpc_url: str, secret: str, folder: Path, origin: Origin, checks: Checks) -> None:
        self.host, self.port = address(rpc_url)
        self.secret = secret
        self.folder = folder
        self.origin = origin
        self.checks = checks
        self.rpc = Rpc(rpc_url, secret)
        self.api = self.new_api(secret)
        # Whether the server tries again if it gets no connection.
        self.durable = False

    def new_api(self, secret: str) -> aria2p.API:
        """Makes an API object, as users of aria2p do."""
        return aria2p.API(aria2p.Client(host=f"http://{self.host}", port=self.port, secret=secret, timeout=20))

    def options(self, **more: str) -> dict[str, str]:
        """Returns options for a new download. Underscores become hyphens."""
        return {"dir": str(self.folder), **{name.replace("_", "-"): value for name, value in more.items()}}

    def slow(self, name: str, **more: str) -> aria2p.Download:
        """Adds a download that lasts for about 40 seconds."""
        return self.api.add_uris([self.origin.slow(name, SLOW_SIZE, SLOW_RATE)], self.options(**more))

    def complete(self, name: str, size: int = SIZE) -> aria2p.Download:
        """Adds a download and waits until it is complete."""
        download = self.api.add_uris([self.origin.file(name, size)], self.options())
        wait_for(f"{name} to complete", lambda: download.live.is_complete)
        return download

    def until(self, download: aria2p.Download, status: str) -> str:
        """Waits until a download has a status, and returns the status that it has then."""
        wait_for(f"{download.gid} to be {status}", lambda: download.live.status == status)
        return download.status

    def gone(self, gid: str) -> bool:
        """Tells if the server no longer carries a download."""
        return self.rpc.status(gid) in (None, "removed")


def check_client(session: Session) -> None:
    """Checks what the low-level client says about the server."""
    checks, client = session.checks, session.api.client
    version: Any = client.get_version()
    checks.holds("get_version names a version", version["version"][0].isdigit(), version)
    checks.equal("get_version lists features", list, type(version["enabledFeatures"]))
    session_id = client.get_session_info()["sessionId"]
    checks.equal("the session id has 40 characters", 40, len(session_id))
    checks.equal("the session id stays the same", session_id, client.get_session_info()["sessionId"])
    missing = sorted(set(aria2p.Client.METHODS) - set(client.list_methods()))
    checks.equal("list_methods has all methods that aria2p knows", [], missing)
    checks.equal(
        "list_notifications has the six types in aria2p's order", NOTIFICATION_TYPES, client.list_notifications()
    )
    checks.equal("save_session is accepted or refused for want of a file", True, saves_session(client))


def saves_session(client: aria2p.Client) -> bool:
    """Tells if save_session answers OK, or the error of a server without a session file."""
    try:
        return client.save_session() == "OK"
    except aria2p.ClientException as error:
        return error.code == 1


def check_refusals(session: Session) -> None:
    """Checks which exceptions aria2p raises for errors of the server."""
    checks, api = session.checks, session.api
    error = checks.raises(
        "an unknown GID raises ClientException", aria2p.ClientException, lambda: api.get_download(UNKNOWN_GID)
    )
    if isinstance(error, aria2p.ClientException):
        checks.equal("the error of an unknown GID has code 1", 1, error.code)
        checks.contains("the error of an unknown GID names the GID", UNKNOWN_GID.lower(), error.message.lower())
    stranger = session.new_api("wrong-" + session.secret)
    error = checks.raises(
        "a wrong secret raises ClientException", aria2p.ClientException, stranger.client.get_global_stat
    )
    if isinstance(error, aria2p.ClientException):
        checks.equal("the error of a wrong secret is Unauthorized", (1, "Unauthorized"), (error.code, error.message))
    checks.raises(
        "a missing secret raises ClientException", aria2p.ClientException, session.new_api("").client.get_version
    )
    error = checks.raises(
        "an unknown method raises ClientException",
        aria2p.ClientException,
        lambda: api.client.call("aria2.noSuchMethod"),
    )
    if isinstance(error, aria2p.ClientException):
        checks.contains("the error of an unknown method names it", "noSuchMethod", error.message)
    checks.raises("add_uris without URIs raises ClientException", aria2p.ClientException, lambda: api.add_uris([]))
    checks.raises(
        "add_uris with a bad option value raises ClientException",
        aria2p.ClientException,
        lambda: api.add_uris([session.origin.file("x", 1)], {"split": "many"}),
    )


def check_add(session: Session) -> None:
    """Checks a download that API.add makes, from its start to its end."""
    checks, api, origin = session.checks, session.api, session.origin
    added = api.add(origin.file("plain.bin", SIZE), session.options())
    checks.equal("API.add makes one download", 1, len(added))
    download = added[0]
    checks.holds(
        "a GID has 16 hexadecimal digits", len(download.gid) == 16 and int(download.gid, 16) >= 0, download.gid
    )
    checks.among("a new download is active, waiting or complete", ["active", "waiting", "complete"], download.status)
    checks.equal("a download becomes complete", "complete", session.until(download, "complete"))
    checks.equal(
        "a complete file has the origin's content",
        content("plain.bin", SIZE),
        (session.folder / "plain.bin").read_bytes(),
    )
    check_complete_properties(session, download)
    check_complete_file(session, download)


def check_complete_properties(session: Session, download: aria2p.Download) -> None:
    """Checks the properties of a complete download."""
    checks = session.checks
    checks.equal("Download.name is the name of the file", "plain.bin", download.name)
    checks.equal("Download.total_length is the size", SIZE, download.total_length)
    checks.equal("Download.completed_length is the size", SIZE, download.completed_length)
    checks.equal("Download.progress is 100", 100.0, download.progress)
    checks.equal("Download.progress_string is 100.00%", "100.00%", download.progress_string())
    checks.equal("Download.total_length_string reads for people", "292.97 KiB", download.total_length_string())
    checks.equal("a complete download has no ETA", "-", download.eta_string())
    checks.equal("Download.eta is the maximum without speed", timedelta.max, download.eta)
    checks.equal("Download.download_speed is 0 at the end", 0, download.download_speed)
    checks.equal("Download.upload_length is 0", 0, download.upload_length)
    checks.equal("Download.connections is 0 at the end", 0, download.connections)
    checks.equal("Download.error_code is 0 at the end", "0", download.error_code)
    checks.equal("Download.dir is the folder of the options", session.folder, download.dir)
    checks.equal("Download.is_torrent is false", False, download.is_torrent)
    checks.equal("Download.bittorrent is None", None, download.bittorrent)
    checks.equal("Download.is_metadata is false", False, download.is_metadata)
    checks.equal("Download.followed_by is empty", [], download.followed_by)
    checks.equal("Download.following is None", None, download.following)
    checks.equal("Download.belongs_to is None", None, download.belongs_to)
    checks.holds(
        "the pieces cover the file",
        download.num_pieces * download.piece_length >= SIZE,
        (download.num_pieces, download.piece_length),
    )
    checks.equal("a complete download has no control file", False, download.control_file_path.exists())
    checks.equal("Download.root_files_paths is the file", [session.folder / "plain.bin"], download.root_files_paths)


def check_complete_file(session: Session, download: aria2p.Download) -> None:
    """Checks the one file of a complete download, its URIs and its options."""
    checks = session.checks
    checks.equal("a download has one file", 1, len(download.files))
    file = download.files[0]
    checks.equal("File.index is 1", 1, file.index)
    checks.equal("File.path is in the folder", session.folder / "plain.bin", file.path)
    checks.equal("File.length is the size", SIZE, file.length)
    checks.equal("File.completed_length is the size", SIZE, file.completed_length)
    checks.equal("File.selected is true", True, file.selected)
    checks.equal("File.uris has the URI", session.origin.file("plain.bin", SIZE), file.uris[0]["uri"])
    checks.equal(
        "get_files is the files of the download",
        [str(file.path)],
        [entry["path"] for entry in session.api.client.get_files(download.gid)],
    )
    checks.raises(
        "get_uris of a complete download raises ClientException",
        aria2p.ClientException,
        lambda: session.api.client.get_uris(download.gid),
    )
    checks.equal("Download.options.dir is the folder", str(session.folder), download.options.dir)
    checks.equal("Download.options belong to a download", False, download.options.are_global)
    error = session.api.pause([download])[0]
    checks.holds(
        "pausing a complete download is an error that is false",
        isinstance(error, aria2p.ClientException) and not error,
        error,
    )


def check_options(session: Session) -> None:
    """Checks downloads that are added with options."""
    checks, api, origin, folder = session.checks, session.api, session.origin, session.folder
    named = api.add_uris([origin.file("n", 1000)], session.options(out="sub/named.bin"))
    session.until(named, "complete")
    checks.equal("the option out names the file", content("n", 1000), (folder / "sub" / "named.bin").read_bytes())
    checks.equal("Download.name is the first folder of the option out", "sub", named.name)
    sent = echoed_headers(session)
    checks.equal(
        "the option header sends both headers", (["one"], ["two"]), (sent.get("x-first"), sent.get("x-second"))
    )
    checks.equal("the option user-agent is sent", ["Tester/1.0"], sent.get("user-agent"))
    checks.equal("the option referer is sent", ["http://example.org/page"], sent.get("referer"))
    private = api.add_uris(
        [origin.private("p", 5000, "alice", "open sesame")],
        session.options(http_user="alice", http_passwd="open sesame", out="private.bin"),
    )
    session.until(private, "complete")
    checks.equal(
        "http-user and http-passwd get a private file", content("p", 5000), (folder / "private.bin").read_bytes()
    )
    refused = api.add_uris(
        [origin.private("q", 5000, "alice", "other")], session.options(http_user="alice", http_passwd="wrong")
    )
    session.until(refused, "error")
    checks.equal("wrong credentials end with error 24", "24", refused.error_code)
    mirror = api.add_uris([origin.missing("m"), origin.file("m", 7000)], session.options(out="mirror.bin"))
    session.until(mirror, "complete")
    checks.equal(
        "the second URI is used if the first is missing", content("m", 7000), (folder / "mirror.bin").read_bytes()
    )
    paused = session.slow("born-paused.bin", pause="true")
    checks.equal("the option pause makes a paused download", "paused", paused.status)
    checks.equal("a paused download is in is_paused", (True, False), (paused.is_paused, paused.is_active))
    chosen = api.add_uris([origin.file("gid.bin", 10)], session.options(gid="00a1b2c3d4e5f607"))
    checks.equal("the option gid sets the GID", "00a1b2c3d4e5f607", chosen.gid)


def echoed_headers(session: Session) -> dict[str, list[str]]:
    """Returns the headers that the server sends for a download with header options."""
    options: dict[str, Any] = {
        "dir": str(session.folder),
        "out": "echo.json",
        "header": ["X-First: one", "X-Second: two"],
        "user-agent": "Tester/1.0",
        "referer": "http://example.org/page",
    }
    download = session.api.add_uris([session.origin.echo("echo.json")], options)
    session.until(download, "complete")
    return json.loads((session.folder / "echo.json").read_text())


def check_input_file(session: Session) -> None:
    """Checks API.add with an input file of aria2."""
    checks, origin = session.checks, session.origin
    source = session.folder / "input.txt"
    source.write_text(
        f"# two downloads\n{origin.file('in1', 3000)}\n  dir={session.folder}\n  out=first.bin\n"
        f"{origin.missing('in2')}\t{origin.file('in2', 4000)}\n  dir={session.folder}\n  out=second.bin\n"
    )
    downloads = session.api.add(str(source))
    checks.equal("an input file makes a download for each entry", 2, len(downloads))
    for download in downloads:
        session.until(download, "complete")
    checks.equal("the first entry has its content", content("in1", 3000), (session.folder / "first.bin").read_bytes())
    checks.equal("the second entry has its content", content("in2", 4000), (session.folder / "second.bin").read_bytes())


def check_active(session: Session) -> None:
    """Checks an active download, and pausing, resuming and removing it."""
    checks, api = session.checks, session.api
    download = session.slow("slow.bin")
    wait_for("speed", lambda: download.live.download_speed > 0 and download.completed_length > 0)
    checks.equal("a download that receives bytes is active", (True, "active"), (download.is_active, download.status))
    checks.equal("an active download knows its total length", SLOW_SIZE, download.total_length)
    checks.holds(
        "the progress of an active download is between 0 and 100", 0 < download.progress < 100, download.progress
    )
    checks.holds(
        "the ETA of an active download is known", timedelta(0) < download.eta < timedelta(minutes=10), download.eta
    )
    checks.holds("an active download has connections", download.connections >= 1, download.connections)
    checks.contains("tell_active has the download", download.gid, [d["gid"] for d in api.client.tell_active(["gid"])])
    checks.equal(
        "get_uris of an active download is the URIs of its file",
        download.files[0].uris,
        api.client.get_uris(download.gid),
    )
    servers: Any = api.client.get_servers(download.gid)
    checks.equal(
        "get_servers names the URI in use",
        session.origin.slow("slow.bin", SLOW_SIZE, SLOW_RATE),
        servers[0]["servers"][0]["currentUri"],
    )
    checks.equal("Download.pause answers true", True, download.pause())
    checks.equal("a paused download becomes paused", "paused", session.until(download, "paused"))
    before = download.completed_length
    checks.equal("pausing twice is an error", False, bool(api.pause([download])[0]))
    checks.equal("Download.resume answers true", True, download.resume())
    checks.equal("a resumed download becomes active", "active", session.until(download, "active"))
    wait_for("more bytes", lambda: download.live.completed_length > before)
    checks.holds("a resumed download keeps its bytes", download.completed_length >= before, download.completed_length)
    checks.equal("API.pause with force answers true", [True], api.pause([download], force=True))
    session.until(download, "paused")
    checks.equal("API.remove with force answers true", [True], api.remove([download], force=True))
    checks.becomes("a removed download is gone", True, lambda: session.gone(download.gid))


def check_finish_after_pause(session: Session) -> None:
    """Checks that a download which was paused midway ends with the right bytes."""
    checks = session.checks
    name, size = "resumed.bin", 1_000_000
    download = session.api.add_uris([session.origin.slow(name, size, 400_000)], session.options())
    session.rpc.wait_for_bytes(download.gid)
    download.pause()
    session.until(download, "paused")
    checks.holds("the pause came midway", 0 < download.completed_length < size, download.completed_length)
    download.resume()
    session.until(download, "complete")
    checks.equal(
        "a resumed download has the origin's content", content(name, size), (session.folder / name).read_bytes()
    )


def check_remove(session: Session) -> None:
    """Checks removal in all states, with files and without."""
    checks, api, folder = session.checks, session.api, session.folder
    kept = session.complete("kept.bin")
    checks.equal("removing a complete download answers true", True, kept.remove())
    checks.equal("a removed result is no longer known", None, session.rpc.status(kept.gid))
    checks.equal("removal without files keeps the file", True, (folder / "kept.bin").exists())
    deleted = session.complete("deleted.bin")
    checks.equal("removal with files answers true", True, deleted.remove(files=True))
    checks.equal("removal with files deletes the file", False, (folder / "deleted.bin").exists())
    active = session.slow("active.bin")
    session.rpc.wait_for_bytes(active.gid)
    checks.equal(
        "removing an active download with its control file answers true", [True], api.remove([active], clean=True)
    )
    checks.becomes("an active download that is removed is gone", True, lambda: session.gone(active.gid))
    paused = session.slow("paused.bin", pause="true")
    checks.equal("removing a paused download answers true", True, paused.remove())
    checks.becomes("a paused download that is removed is gone", True, lambda: session.gone(paused.gid))
    session.slow("r1.bin", pause="true")
    session.slow("r2.bin", pause="true")
    checks.equal("remove_all answers true", True, api.remove_all())
    checks.becomes("remove_all leaves no waiting download", [], lambda: api.client.tell_waiting(0, 10, ["gid"]))


def check_retry(session: Session) -> None:
    """Checks a download that fails, and is retried with aria2p's own options."""
    checks, api, origin = session.checks, session.api, session.origin
    failed = api.add_uris([origin.later("retry", "retry.bin", SIZE)], session.options())
    session.until(failed, "error")
    checks.equal("a missing file has failed", True, failed.has_failed)
    checks.equal("a missing file ends with error 3", "3", failed.error_code)
    checks.holds("a missing file has an error message", failed.error_message, failed.error_message)
    origin.release("retry")
    checks.equal("retry_downloads answers true", [True], api.retry_downloads([failed]))
    checks.becomes(
        "a retried download has the origin's content",
        content("retry.bin", SIZE),
        lambda: (session.folder / "retry.bin").read_bytes() if (session.folder / "retry.bin").exists() else None,
    )
    checks.equal("retry_downloads removes the failed result", None, session.rpc.status(failed.gid))
    refused = api.add_uris([f"http://127.0.0.1:{free_port()}/nobody"], session.options(max_tries="1", retry_wait="0"))
    if session.durable:
        session.until(refused, "active")
        checks.equal("a refused connection is tried again", "active", refused.status)
    else:
        session.until(refused, "error")
        checks.among("a refused connection ends with error 1 or 6", ["1", "6"], refused.error_code)
    bad = api.add_uris([origin.file("sum.bin", 100)], session.options(checksum="sha-1=" + "0" * 40))
    session.until(bad, "error")
    checks.equal("a wrong checksum ends with error 32", "32", bad.error_code)


def check_queue(session: Session) -> None:
    """Checks positions in the queue. Paused downloads hold their places."""
    checks, api = session.checks, session.api
    session.rpc.clear()
    a, b, c, d = (session.slow(f"queue-{name}.bin", pause="true") for name in "abcd")
    names = {download.gid: name for download, name in zip((a, b, c, d), "abcd", strict=True)}

    def order() -> str:
        return "".join(names.get(download.gid, "?") for download in api.get_downloads() if not download.is_removed)

    checks.equal("new downloads are last in the queue", "abcd", order())
    checks.equal("move_up answers the new position", 1, api.move_up(c))
    checks.equal("move_up moves by one", "acbd", order())
    checks.equal("move_down answers the new position", 1, a.move_down())
    checks.equal("move_down moves by one", "cabd", order())
    checks.equal("move_to_top answers 0", 0, d.move_to_top())
    checks.equal("move_to_top moves to the front", "dcab", order())
    checks.equal("move_to_bottom answers the last position", 3, api.move_to_bottom(c))
    checks.equal("move_to_bottom moves to the end", "dabc", order())
    checks.equal("move answers the new position", 2, api.move(d, 2))
    checks.equal("move moves relatively", "abdc", order())
    checks.equal("move_to answers the new position", 0, d.move_to(0))
    checks.equal("move_to moves absolutely", "dabc", order())
    checks.equal("a position beyond the end is the end", 3, api.move(d, 99))
    first = session.api.add_uris(
        [session.origin.slow("queue-e.bin", SLOW_SIZE, SLOW_RATE)], session.options(pause="true"), position=0
    )
    names[first.gid] = "e"
    checks.equal("add_uris with position 0 is first in the queue", "eabcd", order())
    checks.equal(
        "tell_waiting from the end is reversed",
        [d.gid, c.gid],
        [entry["gid"] for entry in api.client.tell_waiting(-1, 2, ["gid"])],
    )
    checks.equal(
        "get_downloads keeps the order of its GIDs",
        [b.gid, a.gid],
        [download.gid for download in api.get_downloads([b.gid, a.gid])],
    )
    api.remove_all()


def check_limit(session: Session) -> None:
    """Checks the limit of active downloads, and pausing and resuming all."""
    checks, api = session.checks, session.api
    session.rpc.clear()
    before = api.get_global_options().max_concurrent_downloads
    try:
        checks.equal("set_global_options answers true", True, api.set_global_options({"max-concurrent-downloads": "1"}))
        one, two = session.slow("limit-1.bin"), session.slow("limit-2.bin")
        session.until(one, "active")
        checks.equal("a download beyond the limit waits", ("waiting", True), (two.live.status, two.is_waiting))
        stats = api.get_stats()
        checks.equal("the stats count active and waiting downloads", (1, 1), (stats.num_active, stats.num_waiting))
        api.set_global_options({"max-concurrent-downloads": "4"})
        checks.equal("a higher limit starts the waiting download", "active", session.until(two, "active"))
        checks.equal("pause_all answers true", True, api.pause_all())
        checks.becomes("pause_all pauses all", ["paused", "paused"], lambda: [one.live.status, two.live.status])
        checks.equal("resume_all answers true", True, api.resume_all())
        checks.becomes("resume_all resumes all", ["active", "active"], lambda: [one.live.status, two.live.status])
        checks.equal("pause_all with force answers true", True, api.pause_all(force=True))
        checks.becomes("forced pause_all pauses all", ["paused", "paused"], lambda: [one.live.status, two.live.status])
    finally:
        api.set_global_options({"max-concurrent-downloads": str(before)})
        session.rpc.clear()


def check_get_and_set_options(session: Session) -> None:
    """Checks options of the server and of a download, read and changed with aria2p's objects."""
    checks, api = session.checks, session.api
    options = api.get_global_options()
    checks.equal("global options are global", True, options.are_global)
    checks.holds(
        "max_concurrent_downloads is a number",
        isinstance(options.max_concurrent_downloads, int),
        options.max_concurrent_downloads,
    )
    checks.equal("the global option dir is an absolute path", True, Path(options.dir).is_absolute())
    options.max_overall_download_limit = "1M"
    read = api.get_global_options().max_overall_download_limit
    checks.equal("a global option is read as it was set, in bytes", 1_048_576, int(read))
    options.max_overall_download_limit = 0
    checks.equal("a global option is set back", 0, int(api.get_global_options().max_overall_download_limit))
    download = session.slow("options.bin", pause="true", max_download_limit="20K")
    checks.equal("an option given in KiB is read in bytes", 20_480, int(download.options.max_download_limit))
    checks.equal("set_options answers true", [True], api.set_options({"max-download-limit": "50K"}, [download]))
    checks.equal("a changed option is read in bytes", 51_200, int(api.get_options([download])[0].max_download_limit))
    download.options.split = 3
    checks.equal("an option that is set through its property is changed", 3, int(download.live.options.split))
    checks.raises(
        "an impossible value raises ClientException",
        aria2p.ClientException,
        lambda: api.set_options({"split": "0"}, [download]),
    )
    download.remove(force=True)


def check_stats(session: Session) -> None:
    """Checks the stats and purging."""
    checks, api = session.checks, session.api
    session.rpc.clear()
    before = api.get_stats().num_stopped_total
    session.complete("stats.bin", 100)
    failed = api.add_uris([session.origin.missing("stats")], session.options())
    session.until(failed, "error")
    stats = api.get_stats()
    checks.equal(
        "the stats count stopped downloads", (0, 0, 2), (stats.num_active, stats.num_waiting, stats.num_stopped)
    )
    checks.equal("num_stopped_total counts on", before + 2, stats.num_stopped_total)
    checks.holds(
        "the speeds are whole numbers", stats.download_speed >= 0 and stats.upload_speed == 0, stats.upload_speed
    )
    checks.equal("purge answers true", True, api.purge())
    checks.equal("purge leaves no stopped download", ([], 0), (api.get_downloads(), api.get_stats().num_stopped))
    one = session.complete("purge-one.bin", 100)
    checks.equal("Download.purge answers true", True, one.purge())
    checks.equal("Download.purge removes one result", None, session.rpc.status(one.gid))
    session.complete("autopurge.bin", 100)
    checks.equal("autopurge answers true", True, api.autopurge())
    checks.equal("autopurge leaves no stopped download", [], api.get_downloads())


def check_batches(session: Session) -> None:
    """Checks several calls in one request."""
    checks, client = session.checks, session.api.client
    answers: Any = client.batch_call(
        [
            (client.GET_VERSION, [], "first"),
            (client.TELL_WAITING, [0, 5], "second"),  # type: ignore[list-item]
            (client.LIST_NOTIFICATIONS, [], "third"),
        ]
    )
    checks.equal(
        "batch_call answers in the order of its calls",
        (dict, list, 6),
        (type(answers[0]), type(answers[1]), len(answers[2])),
    )
    many: Any = client.multicall2(
        [(client.GET_VERSION, []), (client.TELL_STATUS, [UNKNOWN_GID]), (client.GET_GLOBAL_STAT, [])]
    )
    checks.equal("multicall2 wraps each result in a list", (list, list), (type(many[0]), type(many[2])))
    checks.equal("multicall2 has an error in the place of the failed call", 1, many[1]["code"])
    plain: Any = client.multicall([{"methodName": client.GET_SESSION_INFO, "params": []}])
    checks.contains("multicall answers a session id", "sessionId", plain[0][0])


def check_files(session: Session) -> None:
    """Checks that aria2p finds, copies and moves the files of a download."""
    checks, folder = session.checks, session.folder
    download = session.complete("moved.bin")
    checks.equal("copy_files answers true", True, download.copy_files(folder / "copies"))
    checks.equal(
        "copy_files copies the content", content("moved.bin", SIZE), (folder / "copies" / "moved.bin").read_bytes()
    )
    checks.equal("move_files answers true", True, download.move_files(folder / "moves"))
    checks.equal(
        "move_files moves the file",
        (False, True),
        ((folder / "moved.bin").exists(), (folder / "moves" / "moved.bin").exists()),
    )


def check_notifications(session: Session) -> None:
    """Checks the callbacks of API.listen_to_notifications."""
    checks, api = session.checks, session.api
    session.rpc.clear()
    heard: list[tuple[str, str, str]] = []

    def note(event: str, listener: aria2p.API, gid: str) -> None:
        heard.append((event, gid, listener.get_download(gid).gid))

    events = ["start", "pause", "stop", "complete", "error"]
    callbacks: dict[str, Callable[..., None]] = {f"on_download_{e}": functools.partial(note, e) for e in events}
    with Listening(api, callbacks):
        wait_for("the listener", lambda: hears_itself(session, heard))
        slow = session.slow("notified.bin")
        checks.becomes("a start is notified", True, lambda: ("start", slow.gid, slow.gid) in heard)
        slow.pause()
        checks.becomes("a pause is notified", True, lambda: ("pause", slow.gid, slow.gid) in heard)
        slow.resume()
        checks.becomes("a resumption is notified as a start", 2, lambda: heard.count(("start", slow.gid, slow.gid)))
        api.client.remove(slow.gid)
        checks.becomes("a removal is notified as a stop", True, lambda: ("stop", slow.gid, slow.gid) in heard)
        done = session.complete("notified-2.bin")
        checks.becomes("a completion is notified", True, lambda: ("complete", done.gid, done.gid) in heard)
        failed = api.add_uris([session.origin.missing("notified")], session.options())
        checks.becomes("an error is notified", True, lambda: ("error", failed.gid, failed.gid) in heard)
        own = [event for event, gid, _ in heard if gid == slow.gid]
        checks.equal("the notifications of a download are in order", ["start", "pause", "start", "stop"], own)
        checks.equal(
            "a download that completes is notified twice",
            ["start", "complete"],
            [event for event, gid, _ in heard if gid == done.gid],
        )
    checks.equal("stop_listening ends the thread", None, api.listener)


def hears_itself(session: Session, heard: list[tuple[str, str, str]]) -> bool:
    """Makes a short download and tells if its start was notified. The listener's thread connects at its own time."""
    download = session.complete(f"hello-{len(list(session.folder.iterdir()))}.bin", 10)
    return any(gid == download.gid for _, gid, _ in heard)


class Listening:
    """A listener in a thread of its own, which ends with the block."""

    def __init__(self, api: aria2p.API, callbacks: dict[str, Callable[..., None]]) -> None:
        self.api = api
        self.callbacks = callbacks

    def __enter__(self) -> None:
        self.api.listen_to_notifications(threaded=True, timeout=1, **self.callbacks)

    def __exit__(self, *_: object) -> None:
        self.api.stop_listening()


def command(session: Session, *words: str, secret: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command line of aria2p."""
    line = [
        tool("aria2p"),
        "--host",
        f"http://{session.host}",
        "--port",
        str(session.port),
        "--secret",
        secret or session.secret,
        *words,
    ]
    return subprocess.run(
        line, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "COLUMNS": "200"}
    )


def check_command_line(session: Session) -> None:
    """Checks the commands of aria2p that change downloads."""
    checks = session.checks
    session.rpc.clear()
    url = session.origin.slow("cli.bin", SLOW_SIZE, SLOW_RATE)
    added = command(session, "add", url, "-o", f"dir={session.folder};out=cli-named.bin")
    checks.equal("aria2p add exits with 0", 0, added.returncode)
    checks.holds("aria2p add prints the GID", added.stdout.startswith("Created download "), added.stdout + added.stderr)
    gid = added.stdout.split()[-1]
    session.rpc.wait_for_bytes(gid)
    shown = command(session, "show")
    checks.equal(
        "aria2p show has a line with GID, status and name",
        True,
        any(
            line.split()[:2] == [gid, "active"] and line.endswith("cli-named.bin") for line in shown.stdout.splitlines()
        ),
    )
    checks.equal("aria2p pause exits with 0", 0, command(session, "pause", gid).returncode)
    checks.equal("aria2p pause pauses", "paused", session.rpc.wait(gid, "paused"))
    checks.equal("aria2p pause of a paused download exits with 1", 1, command(session, "pause", gid).returncode)
    checks.equal("aria2p resume exits with 0", 0, command(session, "resume", gid).returncode)
    checks.equal("aria2p resume resumes", "active", session.rpc.wait(gid, "active"))
    checks.equal("aria2p pause --all exits with 0", 0, command(session, "pause", "--all").returncode)
    checks.equal("aria2p pause --all pauses", "paused", session.rpc.wait(gid, "paused"))
    checks.equal("aria2p resume --all exits with 0", 0, command(session, "resume", "--all").returncode)
    checks.equal("aria2p resume --all resumes", "active", session.rpc.wait(gid, "active"))
    checks.equal("aria2p remove --force exits with 0", 0, command(session, "remove", "--force", gid).returncode)
    checks.becomes("aria2p remove removes", True, lambda: session.gone(gid))
    session.complete("cli-done.bin", 50)
    checks.equal("aria2p purge exits with 0", 0, command(session, "purge").returncode)
    checks.equal("aria2p purge purges", [], session.api.client.tell_stopped(0, 10))
    shown = command(session, "show")
    checks.equal("aria2p show of nothing has one line", 1, len(shown.stdout.splitlines()))


def check_command_line_calls(session: Session) -> None:
    """Checks the commands of aria2p that call methods, and its errors."""
    checks = session.checks
    called = command(session, "call", "get-version")
    checks.contains("aria2p call getVersion prints a version", "version", json.loads(called.stdout or "{}"))
    called = command(session, "call", "tellStopped", "-J", '[0, 5, ["gid"]]')
    checks.equal("aria2p call with JSON parameters exits with 0", 0, called.returncode)
    unknown = command(session, "pause", UNKNOWN_GID)
    checks.equal("aria2p pause of an unknown GID exits with 1", 1, unknown.returncode)
    checks.contains("aria2p pause of an unknown GID prints it", UNKNOWN_GID, unknown.stderr)
    denied = command(session, "show", secret="wrong")
    checks.holds("aria2p with a wrong secret fails", denied.returncode != 0 and "Unauthorized" in denied.stderr, denied)


def check_command_line_listen(session: Session) -> None:
    """Checks `aria2p listen` with a module of callbacks."""
    checks, folder = session.checks, session.folder
    log, module = folder / "listen.log", folder / "callbacks.py"
    module.write_text(
        f"def on_download_complete(api, gid):\n    with open({str(log)!r}, 'a') as file:\n"
        "        file.write(api.get_download(gid).name + '\\n')\n"
    )
    line = [
        tool("aria2p"),
        "--host",
        f"http://{session.host}",
        "--port",
        str(session.port),
        "--secret",
        session.secret,
        "listen",
        "-c",
        str(module),
        "-t",
        "1",
        "complete",
    ]
    with process(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:

        def heard() -> bool:
            session.complete(f"listen-{len(list(folder.iterdir()))}.bin", 20)
            return log.exists() and log.read_text().endswith("\n")

        wait_for("aria2p listen", heard)
        checks.contains("aria2p listen calls the module's callback", "listen-", log.read_text())
        child.send_signal(signal.SIGTERM)
        checks.equal("aria2p listen ends with SIGTERM", 0, child.wait(WAIT_SECONDS))


SECTIONS = [
    check_client,
    check_refusals,
    check_add,
    check_options,
    check_input_file,
    check_active,
    check_finish_after_pause,
    check_remove,
    check_retry,
    check_queue,
    check_limit,
    check_get_and_set_options,
    check_stats,
    check_batches,
    check_files,
    check_notifications,
    check_command_line,
    check_command_line_calls,
    check_command_line_listen,
]


def main() -> int:
    """Runs all sections."""
    durable = ("--durable", {"action": "store_true", "help": "the server tries again if it gets no connection"})
    options = arguments(__doc__, durable)
    checks = Checks(minimum=150)
    with Origin() as origin:
        session = Session(options.rpc, options.secret, new_folder(options.dir, "aria2p"), origin, checks)
        session.durable = options.durable
        for section in SECTIONS:
            with checks.section(section.__name__):
                session.rpc.clear()
                section(session)
        with checks.section("the end"):
            session.rpc.clear()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
