#!/usr/bin/env python3
"""Drives an aria2 RPC server with Python's xmlrpc.client as uGet does, and with curl, and checks the results.

    try_xmlrpc.py --rpc http://127.0.0.1:6800/jsonrpc --secret SECRET --dir DIR

XML-RPC is called at /rpc of the same server. Curl calls JSON-RPC by POST, by GET with base64 parameters, and as JSONP.
Each check prints `ok NAME` or `FAILED NAME: expected … got …`. The exit code is 1 if a check failed.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import urllib.parse
import xmlrpc.client
from pathlib import Path
from typing import Any

from common import Checks, Rpc, address, arguments, new_folder, wait_for
from origin import Origin, content

SIZE = 150_000
SLOW_SIZE = 4_000_000
SLOW_RATE = 100_000
UNKNOWN_GID = "00000000deadbeef"
# The keys that uGet asks for.
UGET_KEYS = [
    "gid",
    "status",
    "totalLength",
    "completedLength",
    "uploadLength",
    "downloadSpeed",
    "uploadSpeed",
    "errorCode",
    "followedBy",
]


class Session:
    """The objects that all sections use."""

    def __init__(self, options: Any, origin: Origin, checks: Checks) -> None:
        host, port = address(options.rpc)
        self.url: str = options.rpc
        self.xml_url = f"http://{host}:{port}/rpc"
        self.xml = xmlrpc.client.ServerProxy(self.xml_url, allow_none=False)
        self.token = f"token:{options.secret}"
        self.rpc = Rpc(options.rpc, options.secret)
        self.folder: Path = new_folder(options.dir, "xmlrpc")
        self.origin = origin
        self.checks = checks

    def options(self, **more: Any) -> dict[str, Any]:
        """Returns options for a new download. Underscores become hyphens."""
        return {"dir": str(self.folder), **{name.replace("_", "-"): value for name, value in more.items()}}


def fault(session: Session, name: str, call: Any, text: str) -> None:
    """Checks that an XML-RPC call raises a fault with code 1 and a text."""
    error = session.checks.raises(f"{name} is a fault", xmlrpc.client.Fault, call)
    if isinstance(error, xmlrpc.client.Fault):
        session.checks.equal(
            f"{name} is fault 1 with a message", (1, True), (error.faultCode, text in error.faultString)
        )


def check_xml(session: Session) -> None:
    """Checks plain XML-RPC calls."""
    checks, xml, token = session.checks, session.xml, session.token
    version: Any = xml.aria2.getVersion(token)
    checks.holds(
        "XML: getVersion has a string and a list",
        version["version"][0].isdigit() and isinstance(version["enabledFeatures"], list),
        version,
    )
    checks.contains("XML: system.listMethods needs no secret", "aria2.addUri", xml.system.listMethods())
    checks.contains(
        "XML: system.listNotifications has onDownloadStart", "aria2.onDownloadStart", xml.system.listNotifications()
    )
    stat: Any = xml.aria2.getGlobalStat(token)
    checks.equal("XML: getGlobalStat has strings", {"str"}, {type(value).__name__ for value in stat.values()})
    checks.equal("XML: an empty list is a list", [], xml.aria2.tellActive(token))
    fault(session, "XML: a wrong secret", lambda: xml.aria2.getVersion("token:wrong"), "Unauthorized")
    fault(session, "XML: a missing secret", lambda: xml.aria2.getVersion(), "Unauthorized")
    fault(session, "XML: an unknown GID", lambda: xml.aria2.tellStatus(token, UNKNOWN_GID), "is not found")
    fault(session, "XML: an unknown method", lambda: xml.aria2.noSuchMethod(token), "No such method")


def check_uget(session: Session) -> None:
    """Checks the calls of uGet's aria2 plug-in for one download."""
    checks, xml, token = session.checks, session.xml, session.token
    url, name = session.origin.file("uget", SIZE), "uget é & <x>.bin"
    gid: Any = xml.aria2.addUri(token, [url], session.options(out=name, split="3", max_connection_per_server="1"))
    checks.equal("uGet: addUri answers a GID", 16, len(gid))
    status: Any = {}

    def complete() -> bool:
        status.update(xml.aria2.tellStatus(token, gid, UGET_KEYS))  # type: ignore[call-overload]
        return status["status"] == "complete"

    wait_for("the download", complete)
    checks.equal(
        "uGet: tellStatus has the lengths as strings",
        (str(SIZE), str(SIZE)),
        (status["totalLength"], status["completedLength"]),
    )
    checks.equal("uGet: tellStatus has no key that was not asked for", set(), set(status) - set(UGET_KEYS))
    checks.equal(
        "uGet: a name with markup and an accent is kept", content("uget", SIZE), (session.folder / name).read_bytes()
    )
    files: Any = xml.aria2.getFiles(token, gid)
    checks.equal("uGet: getFiles has the path", str(session.folder / name), files[0]["path"])
    checks.equal("uGet: getFiles has the URI", url, files[0]["uris"][0]["uri"])
    checks.equal("uGet: removeDownloadResult answers OK", "OK", xml.aria2.removeDownloadResult(token, gid))


def check_control(session: Session) -> None:
    """Checks pausing, resuming, moving, options and removal by XML-RPC."""
    checks, xml, token = session.checks, session.xml, session.token
    slow = session.origin.slow("xml-slow.bin", SLOW_SIZE, SLOW_RATE)
    gid: Any = xml.aria2.addUri(token, [slow], session.options(header=["X-One: 1", "X-Two: 2"]))
    session.rpc.wait_for_bytes(gid)
    checks.equal("XML: pause answers the GID", gid, xml.aria2.pause(token, gid))
    checks.equal("XML: a paused download becomes paused", "paused", session.rpc.wait(gid, "paused"))
    sent = [headers for _, path, headers in session.origin.server.requests if path.endswith("/xml-slow.bin")][0]
    checks.equal("XML: a list of headers is sent", ("1", "2"), (sent.get("X-One"), sent.get("X-Two")))
    second: Any = xml.aria2.addUri(token, [slow], session.options(pause="true", out="second.bin"), 0)
    waiting: Any = xml.aria2.tellWaiting(token, 0, 10, ["gid"])
    checks.equal("XML: addUri takes a position", [{"gid": second}, {"gid": gid}], waiting)
    checks.equal("XML: changePosition answers a number", 1, xml.aria2.changePosition(token, second, 1, "POS_SET"))
    checks.equal("XML: changeUri answers numbers", [0, 1], xml.aria2.changeUri(token, gid, 1, [], [slow + "?2"]))
    checks.equal("XML: changeOption answers OK", "OK", xml.aria2.changeOption(token, gid, {"max-download-limit": "2K"}))
    options: Any = xml.aria2.getOption(token, gid)
    checks.equal("XML: getOption has the change", "2048", options["max-download-limit"])
    checks.equal("XML: unpause answers the GID", gid, xml.aria2.unpause(token, gid))
    checks.equal("XML: a resumed download becomes active", "active", session.rpc.wait(gid, "active"))
    checks.equal("XML: remove answers the GID", gid, xml.aria2.remove(token, gid))
    checks.equal("XML: a removed download becomes removed", "removed", session.rpc.wait(gid, "removed"))
    checks.equal("XML: purgeDownloadResult answers OK", "OK", xml.aria2.purgeDownloadResult(token))
    fault(
        session,
        "XML: addTorrent of binary garbage",
        lambda: xml.aria2.addTorrent(token, xmlrpc.client.Binary(b"x")),
        "",
    )


def check_multicall(session: Session) -> None:
    """Checks system.multicall as uGet and as Python's MultiCall send it."""
    checks, xml, token = session.checks, session.xml, session.token
    url = session.origin.file("xml-multi.bin", 2000)
    answers: Any = xml.system.multicall(
        [
            {"methodName": "aria2.getGlobalStat", "params": [token]},
            {"methodName": "aria2.tellStatus", "params": [token, UNKNOWN_GID, UGET_KEYS]},
            {"methodName": "aria2.addUri", "params": [token, [url], session.options()]},
        ]
    )
    checks.equal(
        "XML: multicall has a list of one for a result", (1, "0"), (len(answers[0]), answers[0][0]["numActive"])
    )
    checks.equal(
        "XML: multicall has a fault for a failed call",
        ({"faultCode", "faultString"}, 1),
        (set(answers[1]), answers[1]["faultCode"]),
    )
    checks.equal(
        "XML: a download that multicall adds completes", "complete", session.rpc.wait(answers[2][0], "complete")
    )
    calls = xmlrpc.client.MultiCall(session.xml)
    calls.aria2.tellStatus(token, answers[2][0], ["status"])
    calls.aria2.getSessionInfo(token)
    calls.system.listNotifications()
    status, info, notifications = calls()
    checks.equal(
        "XML: Python's MultiCall reads the answers",
        ({"status": "complete"}, 40, 6),
        (status, len(info["sessionId"]), len(notifications)),
    )


def curl(*words: str, body: str | None = None) -> tuple[int, str, str]:
    """Runs curl and returns the status, the media type and the body."""
    end = "\n%{http_code} %{content_type}"
    command = ["curl", "--silent", "--show-error", "--max-time", "10", "--noproxy", "*", "--write-out", end, *words]
    done = subprocess.run(command, input=body, capture_output=True, text=True, timeout=20, check=False)
    text, _, last = done.stdout.rpartition("\n")
    status, _, media_type = last.partition(" ")
    return int(status or 0), media_type.split(";")[0].strip(), text or done.stderr


def parameters(*values: Any) -> str:
    """Returns parameters for a GET: JSON, in base64, percent-encoded."""
    return urllib.parse.quote(base64.b64encode(json.dumps(list(values)).encode()).decode(), safe="")


def check_post(session: Session) -> None:
    """Checks JSON-RPC by curl's POST."""
    checks, url, token = session.checks, session.url, session.token
    call = json.dumps({"jsonrpc": "2.0", "id": "x1", "method": "aria2.getVersion", "params": [token]})
    status, media_type, text = curl("--data-binary", "@-", url, body=call)
    checks.equal("POST: the status is 200", 200, status)
    checks.equal("POST: the media type is application/json-rpc", "application/json-rpc", media_type)
    answer = json.loads(text)
    checks.equal("POST: the answer has id, jsonrpc and result", ["id", "jsonrpc", "result"], sorted(answer))
    checks.equal("POST: the id is the request's", "x1", answer["id"])
    numbered = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "aria2.getVersion", "params": [token]})
    checks.equal(
        "POST: a numeric id stays numeric", 7, json.loads(curl("--data-binary", "@-", url, body=numbered)[2])["id"]
    )
    typed = curl("--json", "@-", url, body=call)
    checks.equal("POST: application/json is accepted", 200, typed[0])
    squeezed = curl("--compressed", "--data-binary", "@-", url, body=call)
    checks.equal("POST: curl reads a compressed answer", "x1", json.loads(squeezed[2])["id"])
    old = curl("--http1.0", "--data-binary", "@-", url, body=call)
    checks.equal("POST: HTTP/1.0 is answered", "x1", json.loads(old[2])["id"])
    expecting = curl("--header", "Expect: 100-continue", "--data-binary", "@-", url, body=call)
    checks.equal("POST: Expect: 100-continue is answered", "x1", json.loads(expecting[2])["id"])
    batch = json.dumps([json.loads(call), {"jsonrpc": "2.0", "id": "x2", "method": "no.such", "params": []}])
    answers = json.loads(curl("--data-binary", "@-", url, body=batch)[2])
    checks.equal(
        "POST: a batch is answered in order",
        [("x1", True), ("x2", False)],
        [(answer["id"], "result" in answer) for answer in answers],
    )


def check_post_errors(session: Session) -> None:
    """Checks the answers to bad requests by POST."""
    checks, url = session.checks, session.url
    status, media_type, text = curl("--data-binary", "@-", url, body='{"method": ')
    error = json.loads(text)
    checks.equal("POST: bad JSON is error -32700 with id null", (-32700, None), (error["error"]["code"], error["id"]))
    checks.equal("POST: bad JSON has the JSON media type", "application/json-rpc", media_type)
    checks.holds("POST: bad JSON is not status 200", status >= 400, status)
    wrong = json.dumps({"jsonrpc": "2.0", "id": "w", "method": "aria2.getVersion", "params": ["token:wrong"]})
    status, _, text = curl("--data-binary", "@-", url, body=wrong)
    checks.equal("POST: a wrong secret is error 1", {"code": 1, "message": "Unauthorized"}, json.loads(text)["error"])
    checks.equal("POST: a wrong secret is status 400", 400, status)
    status, _, _ = curl(url.rsplit("/", 1)[0] + "/no-such-path")
    checks.equal("GET: an unknown path is status 404", 404, status)
    checks.equal("POST: a second request uses the same connection", ["1", "0"], connections(session))


def connections(session: Session) -> list[str]:
    """Returns how many connections curl opens for each of two requests."""
    call = json.dumps({"jsonrpc": "2.0", "id": "n", "method": "system.listMethods"})
    command = [
        "curl",
        "--silent",
        "--max-time",
        "10",
        "--noproxy",
        "*",
        "--write-out",
        "%{num_connects}\n",
        "--data-binary",
        call,
        "--output",
        "/dev/null",
        session.url,
        "--output",
        "/dev/null",
        session.url,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.split()


def check_get(session: Session) -> None:
    """Checks JSON-RPC by GET with base64 parameters."""
    checks, url, token = session.checks, session.url, session.token
    status, media_type, text = curl(f"{url}?method=aria2.getVersion&id=g1&params={parameters(token)}")
    answer = json.loads(text)
    checks.equal("GET: a call is answered", (200, "g1", True), (status, answer["id"], "version" in answer["result"]))
    checks.equal("GET: the media type is application/json-rpc", "application/json-rpc", media_type)
    target = session.origin.file("get.bin", 4000)
    added = json.loads(
        curl(f"{url}?method=aria2.addUri&id=g2&params={parameters(token, [target], session.options())}")[2]
    )
    checks.equal(
        "GET: addUri adds a download that completes", "complete", session.rpc.wait(added["result"], "complete")
    )
    checks.equal(
        "GET: the file has the origin's content", content("get.bin", 4000), (session.folder / "get.bin").read_bytes()
    )
    methods = json.loads(curl(f"{url}?method=system.listMethods&id=g3")[2])
    checks.contains("GET: parameters can be missing", "aria2.addUri", methods["result"])
    calls = [{"jsonrpc": "2.0", "id": n, "method": "aria2.getSessionInfo", "params": [token]} for n in ("b1", "b2")]
    answers = json.loads(curl(f"{url}?params={parameters(*calls)}")[2])
    checks.equal("GET: a batch in the parameters is answered", ["b1", "b2"], [answer["id"] for answer in answers])
    wrong = json.loads(curl(f"{url}?method=aria2.getVersion&id=g4&params={parameters('token:wrong')}")[2])
    checks.equal("GET: a wrong secret is refused", "Unauthorized", wrong["error"]["message"])
    status, _, text = curl(f"{url}?method=aria2.getVersion&id=g5&params=!!!")
    checks.holds("GET: bad base64 is an error", "error" in json.loads(text), (status, text))


def check_jsonp(session: Session) -> None:
    """Checks JSONP."""
    checks, url, token = session.checks, session.url, session.token
    query = f"method=aria2.getGlobalStat&id=j1&params={parameters(token)}&jsoncallback=hear"
    status, media_type, text = curl(f"{url}?{query}")
    checks.equal("JSONP: the status is 200", 200, status)
    checks.equal("JSONP: the media type is text/javascript", "text/javascript", media_type)
    checks.holds("JSONP: the answer calls the function", text.startswith("hear(") and text.endswith(")"), text)
    checks.equal("JSONP: the argument is the answer", "j1", json.loads(text[len("hear(") : -1])["id"])
    status, media_type, text = curl(f"{url}?method=aria2.getGlobalStat&id=j2&jsoncallback=hear")
    checks.equal("JSONP: an error calls the function with status 400", (400, True), (status, text.startswith("hear(")))
    checks.equal("JSONP: an error has its code", 1, json.loads(text[len("hear(") : -1])["error"]["code"])
    called = curl(f"{url}?method=system.listMethods&id=j3&params=&jsoncallback=a.b_c")[2]
    checks.holds("JSONP: a dotted name is a function's name", called.startswith("a.b_c("), called)


def check_raw_xml(session: Session) -> None:
    """Checks the HTTP side of XML-RPC by curl."""
    checks = session.checks
    body = xmlrpc.client.dumps((session.token,), "aria2.getVersion")
    status, media_type, text = curl(
        "--header", "Content-Type: text/xml", "--data-binary", "@-", session.xml_url, body=body
    )
    checks.equal("XML: the status is 200 and the media type text/xml", (200, "text/xml"), (status, media_type))
    checks.holds("XML: the answer begins with a declaration", text.startswith("<?xml"), text[:40])
    typeless = body.replace("<string>", "").replace("</string>", "")
    text = curl("--data-binary", "@-", session.xml_url, body=typeless)[2]
    checks.contains("XML: a value without a type is a string", "enabledFeatures", text)
    status, _, text = curl("--data-binary", "@-", session.xml_url, body="<methodCall><methodName>")
    checks.holds("XML: broken XML is an error", status >= 400 or "faultCode" in text, (status, text))


SECTIONS = [
    check_xml,
    check_uget,
    check_control,
    check_multicall,
    check_post,
    check_post_errors,
    check_get,
    check_jsonp,
    check_raw_xml,
]


def main() -> int:
    """Runs all sections."""
    options = arguments(__doc__)
    checks = Checks(minimum=75)
    with Origin() as origin:
        session = Session(options, origin, checks)
        for section in SECTIONS:
            with checks.section(section.__name__):
                session.rpc.clear()
                section(session)
        session.rpc.clear()
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
