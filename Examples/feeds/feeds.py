#!/usr/bin/env python3
"""A feed reader that fetches new articles before you open it.

    feeds.py             prints the unread articles, and marks them as read
    feeds.py add URL...  follows feeds (RSS 2.0, RSS 1.0 or Atom)
    feeds.py remove URL  stops following a feed
    feeds.py list        prints the feeds, with their last fetch and unread articles
    feeds.py fetch       fetches new articles of every feed; the service runs this

The exit status of 'fetch' tells the service the result: 0 for new articles, 10 for none, 1 for a failure.
"""

import concurrent.futures
import contextlib
import html
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import sys
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as xml

APP = "org.example.Feeds"
DIRECTORY = pathlib.Path(os.environ.get("FEEDS_DIRECTORY") or pathlib.Path.home() / ".local/share/feeds")
NEW_DATA, FAILED, NO_DATA = 0, 1, 10
LARGEST_FEED = 8 << 20
KEPT_ARTICLES = 500

# The service ends a wake that exceeds its limit. Fetches that are still running shortly before count as failed.
DEADLINE = time.monotonic() + float(os.environ.get("NIGHTSHIFT_WAKE_LIMIT") or 30) - 5

SCHEMA = """
CREATE TABLE IF NOT EXISTS feeds (
    url TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT '', etag TEXT, modified TEXT, asked REAL, problem TEXT);
CREATE TABLE IF NOT EXISTS articles (
    feed TEXT NOT NULL REFERENCES feeds ON DELETE CASCADE, id TEXT NOT NULL, title TEXT NOT NULL, link TEXT NOT NULL,
    listed REAL NOT NULL, is_read INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (feed, id));
"""


def library():
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(DIRECTORY / "feeds.sqlite", timeout=10)
    database.execute("PRAGMA foreign_keys = ON")
    database.executescript(SCHEMA)
    return database


# Fetching feeds


def ask(url, etag, modified):
    """Fetches the feed with a conditional GET (RFC 9110, section 13). Returns None if the feed has not changed."""
    request = urllib.request.Request(url, headers={"User-Agent": "feeds.py (Nightshift example)"})
    if etag:
        request.add_header("If-None-Match", etag)
    if modified:
        request.add_header("If-Modified-Since", modified)
    try:
        with urllib.request.urlopen(request, timeout=max(1, min(15, DEADLINE - time.monotonic()))) as answer:
            body = answer.read(LARGEST_FEED + 1)
            if len(body) > LARGEST_FEED:
                raise ValueError("the feed is too large")
            title, articles = parse(body)
            return title, articles, answer.headers.get("ETag"), answer.headers.get("Last-Modified")
    except urllib.error.HTTPError as error:
        if error.code == 304:
            return None
        raise


def parse(body):
    """Returns the feed's title, and its articles as (id, title, link) in the order of the feed (newest first)."""
    root = xml.fromstring(body)
    channel = next(iter(children(root, "channel")), root)
    articles = []
    # RSS 1.0 has its items next to the channel, and RSS 2.0 has them inside the channel. Atom calls items entries.
    for item in children(root, "item", "entry") or children(channel, "item", "entry"):
        link = text(item, "link")
        for element in children(item, "link"):
            if element.get("href") and element.get("rel", "alternate") == "alternate":
                link = element.get("href")
                break
        identifier = text(item, "guid", "id") or link or text(item, "title")
        if identifier:
            articles.append((identifier, text(item, "title") or link, line(link)))
    return text(channel, "title"), articles


def children(element, *names):
    """Returns the elements with one of these names, in any namespace."""
    return [child for child in element if child.tag.rsplit("}", 1)[-1] in names]


def text(element, *names):
    """Returns the text of the first child with one of these names."""
    return next((line(child.text) for child in children(element, *names) if child.text and child.text.strip()), "")


def line(text):
    """Returns one line of plain text. Titles are untrusted, and must not send control characters to a terminal."""
    plain = re.sub(r"<[^>]*>", "", html.unescape(text))
    return "".join(character for character in " ".join(plain.split()) if character.isprintable())


# Commands of the user and the service


def fetch():
    database = library()
    feeds = database.execute("SELECT url, etag, modified FROM feeds").fetchall()
    new = failed = 0
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
    asked = {pool.submit(ask, *feed): feed[0] for feed in feeds}
    try:
        for answer in concurrent.futures.as_completed(asked, timeout=max(1, DEADLINE - time.monotonic())):
            url = asked.pop(answer)
            try:
                new += keep(database, url, answer.result())
            except Exception as error:  # an error of one server does not stop the other feeds
                failed += 1
                problem(database, url, error)
    except (concurrent.futures.TimeoutError, Expired):
        for url in asked.values():
            failed += 1
            problem(database, url, "the server did not respond in time")
    print(f"{len(feeds)} feeds asked, {new} new articles, {failed} failed", flush=True)
    # Exit without waiting for threads that still wait for a server.
    code = NEW_DATA if new else FAILED if failed and failed == len(feeds) else NO_DATA
    database.close()
    os._exit(code)


def keep(database, url, answer):
    """Stores new articles in one transaction. An article that is listed again does not become new again."""
    now = time.time()
    with database:
        if answer is None:
            database.execute("UPDATE feeds SET asked = ?, problem = NULL WHERE url = ?", (now, url))
            return 0
        title, articles, etag, modified = answer
        database.execute(
            "UPDATE feeds SET title = ?, etag = ?, modified = ?, asked = ?, problem = NULL WHERE url = ?",
            (title or url, etag, modified, now, url))
        new = 0
        # The newest article is first in the feed, but must be stored last. The feed may have been removed meanwhile.
        for article in reversed(articles[:KEPT_ARTICLES]):
            new += database.execute(
                "INSERT OR IGNORE INTO articles (feed, id, title, link, listed) SELECT url, ?, ?, ?, ? FROM feeds"
                " WHERE url = ?", (*article, now, url)).rowcount
            database.execute("UPDATE articles SET listed = ? WHERE feed = ? AND id = ?", (now, url, article[0]))
        # Keep the articles that the feed still lists. Otherwise they would become new again.
        database.execute(
            "DELETE FROM articles WHERE feed = ? AND is_read AND listed < ?", (url, now))
        return new


def problem(database, url, error):
    print(f"{url}: {error}", file=sys.stderr, flush=True)
    with database:
        database.execute("UPDATE feeds SET asked = ?, problem = ? WHERE url = ?", (time.time(), line(str(error)), url))


def read():
    database = library()
    with in_front():
        articles = database.execute(
            "SELECT a.rowid, f.title, a.title, a.link FROM articles a JOIN feeds f ON f.url = a.feed WHERE NOT a.is_read"
            " ORDER BY f.title, f.url, a.rowid DESC").fetchall()
        feed = None
        for _, title, headline, link in articles:
            if title != feed:
                print(("" if feed is None else "\n") + title)
                feed = title
            print(f"  {headline}" + (f"\n    {link}" if link else ""))
        sys.stdout.flush()
        with database:
            database.executemany("UPDATE articles SET is_read = 1 WHERE rowid = ?", [(row[0],) for row in articles])
        if not articles:
            feeds = database.execute("SELECT count(*) FROM feeds").fetchone()[0]
            print("There are no unread articles." if feeds else "No feeds yet: feeds.py add URL")


def show():
    for title, url, asked, trouble, unread in library().execute(
            "SELECT f.title, f.url, f.asked, f.problem, count(a.id) FROM feeds f LEFT JOIN articles a"
            " ON a.feed = f.url AND NOT a.is_read GROUP BY f.url ORDER BY f.title, f.url"):
        when = time.strftime("%F %H:%M", time.localtime(asked)) if asked else "never"
        print(f"{title or url}\n  {url}\n  asked {when}, {unread} unread" + (f", {trouble}" if trouble else ""))


def add(urls):
    database = library()
    for url in urls:
        if not re.match(r"https?://[^/\s]", url):
            sys.exit(f"feeds.py: '{url}' is not an http or https URL")
    with database:
        database.executemany("INSERT OR IGNORE INTO feeds (url) VALUES (?)", [(url,) for url in urls])


def remove(urls):
    database = library()
    with database:
        for url in urls:
            if not database.execute("DELETE FROM feeds WHERE url = ?", (url,)).rowcount:
                sys.exit(f"feeds.py: you do not follow '{url}'")


# Reporting to the service when you read, so that it learns the times. An app with windows does not need this


class Service(http.client.HTTPConnection):
    """A connection to the service's local API, which is HTTP on a Unix socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(2)
        self.sock.connect(self.path())

    @staticmethod
    def path():
        if "NIGHTSHIFT_SOCKET" in os.environ:
            return os.environ["NIGHTSHIFT_SOCKET"]
        if "NIGHTSHIFT_HOME" in os.environ:
            return os.path.join(os.environ["NIGHTSHIFT_HOME"], "run/nightshift.sock")
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or state, "nightshift/nightshift.sock")


@contextlib.contextmanager
def in_front():
    """Reports that the app is in the foreground until the block ends. The block also runs without a service."""
    stream, call = Service("localhost"), Service("localhost")
    try:
        stream.request("GET", f"/v1/process/commands?app={APP}")
        # After the response head, the service knows the process for as long as the stream is open.
        answer = stream.getresponse()
        call.request("POST", "/v1/process/state", json.dumps({"state": "active"}), {"Content-Type": "application/json"})
        call.getresponse().read()
    except (OSError, http.client.HTTPException):
        pass
    try:
        yield
    finally:
        # When the process ends, the service records the end of its use. No request is needed for that.
        for connection in (call, stream):
            connection.close()


class Expired(BaseException):
    """An exception for a time limit that is near. It is no subclass of `Exception`, unlike the errors of a server."""


def expired(number, frame):
    """Handles SIGTERM, which the service sends a few seconds before the limit."""
    raise Expired


def main():
    command, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("read", [])
    if command == "fetch" and not arguments:
        signal.signal(signal.SIGTERM, expired)
        fetch()
    elif command == "read" and not arguments:
        read()
    elif command == "list" and not arguments:
        show()
    elif command == "add" and arguments:
        add(arguments)
    elif command == "remove" and arguments:
        remove(arguments)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
