"""Requests of the script as bytes, and responses as the values that an answers file keeps.

Used by play.py.
"""

from __future__ import annotations

import base64
import json
import xmlrpc.client
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote
from xml.parsers.expat import ExpatError

from channel import Reply

KEPT_HEADERS = {
    "content-type",
    "connection",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-max-age",
}

Answer = dict[str, Any]


def query_value(value: Any) -> str:
    """Returns a value of a query; {"base64": JSON} is encoded as aria2 wants its params."""
    if isinstance(value, dict):
        return quote(base64.b64encode(json.dumps(value["base64"]).encode()).decode(), safe="")
    return str(value)


def body_of(request: dict[str, Any]) -> bytes | None:
    """Returns the body of a raw request."""
    if "json" in request:
        return json.dumps(request["json"]).encode()
    if "base64" in request:
        return base64.b64decode(request["base64"])
    return request["text"].encode() if "text" in request else None


def member(value: Any, path: str) -> Any:
    """Returns the member of a result at a dotted path such as `0.servers.1.uri`, or None."""
    for name in path.split("."):
        if isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def reached(answer: Answer, until: dict[str, list[str]]) -> bool:
    """Returns whether each wanted member of the result matches one of its patterns."""
    body = answer["body"]
    result = body.get("result") if isinstance(body, dict) else None
    return all(
        any(fnmatchcase(str(member(result, path)), pattern) for pattern in patterns)
        for path, patterns in until.items()
    )


def answer_of(reply: Reply) -> Answer:
    """Returns what is kept of a response."""
    if not reply.is_answer:
        return {"status": reply.status, "headers": {}, "body": None}
    headers = {name: value for name, value in sorted(reply.headers.items()) if name.lower() in KEPT_HEADERS}
    return {"status": reply.status, "headers": headers, "body": body_value(reply)}


def body_value(reply: Reply) -> Any:
    """Returns a body as a value: JSON, JSONP or XML-RPC if it is one, else text."""
    text = reply.body.decode("utf-8", "surrogateescape")
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text.startswith("<?xml"):
        return xml_value(text)
    name, bracket, rest = text.partition("({" if "({" in text else "([")
    end = rest.rfind(")")
    try:
        return {"callback": name, "after": rest[end + 1 :], "value": json.loads(bracket[1:] + rest[:end])}
    except ValueError:
        return {"text": text}


def xml_value(text: str) -> Any:
    """Returns the value or the fault of an XML-RPC response, and its text up to the first value."""
    opening = text.split("<value>", 1)[0]
    try:
        values, _ = xmlrpc.client.loads(text)
        return {"opening": opening, "value": values[0]}
    except xmlrpc.client.Fault as fault:
        return {"opening": opening, "faultCode": fault.faultCode, "faultString": fault.faultString}
    except (ExpatError, xmlrpc.client.Error):
        return {"text": text}
