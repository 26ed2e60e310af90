#!/usr/bin/env python3
"""How long a job works before its first claim is on the remote, and before its first request.

    cargo build --release && benches/first_claim.py [PROGRAM] [ARTICLES]

A site with that many articles (1,000) is made in a temporary directory: a feed, built pages, and Markdown files, in a git
repository with a bare remote, and a search engine's stand-in on loopback. Three runs are timed, each five times with the
median shown: the first of a site, one that finds a row for each article and a new one, and one that has nothing to do.
"""

import http.server
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/sayonce").resolve()
ARTICLES = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
ROUNDS = 5
KEY = "0123456789abcdef"
PARAGRAPH = "<p>" + "Some words of an article, with <em>markup</em> and <a href='/'>a link</a>. " * 20 + "</p>\n"


class Engine(http.server.BaseHTTPRequestHandler):
    """Takes every address."""

    asked: list[float] = []

    def do_POST(self):
        self.asked.append(time.time())
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_arguments):
        pass


def day(number):
    return f"{2020 + (number - 1) // 336}-{(number - 1) // 28 % 12 + 1:02}-{(number - 1) % 28 + 1:02}"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build(site, articles):
    entries = []
    for number in range(1, articles + 1):
        url, title = f"https://blog.example/article-{number}/", f"Article {number}"
        entries.append(
            f"<entry><title>{title}</title><id>{url}</id><link href='{url}'/><published>{day(number)}T09:00:00Z</published>"
            f"<summary>What it is about.</summary></entry>"
        )
        write(
            site / f"_site/article-{number}/index.html",
            f"<!DOCTYPE html><html lang=en><head><title>{title}</title><link rel=canonical href='{url}'>"
            f"<meta property='og:type' content=article><meta property='article:published_time' content='{day(number)}T09:00:00Z'>"
            f"<meta name=description content='What it is about.'></head><body><h1>{title}</h1>\n{PARAGRAPH * 10}</body></html>",
        )
        write(
            site / f"_posts/{day(number)}-article-{number}.md",
            f"---\ntitle: {title}\ndate: {day(number)} 09:00:00 +0000\ntags: [one, two]\n---\n\n{'Some words of an article. ' * 200}\n",
        )
    write(
        site / "_site/feed.xml",
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>A blog</title>" + "\n".join(reversed(entries)) + "</feed>",
    )
    write(site / f"_site/{KEY}.txt", KEY)


def git(directory, *arguments):
    who = ["-c", "user.name=The author", "-c", "user.email=author@blog.example"]
    subprocess.run(["git", *who, *arguments], cwd=directory, check=True, stdout=subprocess.DEVNULL)


def prepare(root, port):
    site, remote = root / "site", root / "remote.git"
    site.mkdir()
    git(root, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    # When each push came in.
    hook = remote / "hooks/post-receive"
    write(hook, f"#!/bin/sh\ndate +%s.%N >>'{root}/pushed'\n")
    hook.chmod(0o755)
    git(site, "init", "--quiet", "--initial-branch=main")
    git(site, "remote", "add", "origin", str(remote))
    write(
        site / "sayonce.toml",
        f"""[site]
url = "https://blog.example"
feed = "_site/feed.xml"
pages = "_site"
markdown = "_posts/*.md"
first_run_max = {2 * ARTICLES}
[ledger]
branch = "sayonce-ledger"
clock_skew = "0s"
[channels.search]
kind = "indexnow"
key = "{KEY}"
endpoint = "http://127.0.0.1:{port}/indexnow"
""",
    )
    build(site, ARTICLES)
    git(site, "add", "--all")
    git(site, "commit", "--quiet", "--message", "the blog")
    git(site, "push", "--quiet", "origin", "main")
    return site


def timed(root, site, *arguments):
    """Milliseconds until the first claim was on the remote, until the first request, and until the end."""
    Engine.asked.clear()
    pushed = root / "pushed"
    pushed.unlink(missing_ok=True)
    began = time.time()
    ran = subprocess.run([PROGRAM, "run", "--format", "json", *arguments], cwd=site, capture_output=True, check=False)
    ended = time.time()
    if ran.returncode not in (0, 6):
        sys.exit(ran.stderr.decode())
    claimed = float(pushed.read_text().split()[0]) if pushed.exists() else None
    moments = [claimed, Engine.asked[0] if Engine.asked else None, ended]
    return [None if moment is None else 1000 * (moment - began) for moment in moments]


def show(name, rounds):
    columns = ["-" if None in column else f"{statistics.median(column):.0f} ms" for column in zip(*rounds)]
    print(f"{name:34}" + "".join(f"{column:>9}" for column in columns))


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    first, later, idle = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            site = prepare(root, server.server_address[1])
            first.append(timed(root, site, "--max", "1"))
            timed(root, site)
            build(site, ARTICLES + 1)
            later.append(timed(root, site))
            idle.append(timed(root, site))
    print(f"{PROGRAM}, {ARTICLES} articles")
    print(f"{'':34}{'claim':>9}{'request':>9}{'end':>9}")
    show("first run", first)
    show("a new article beside as many rows", later)
    show("nothing to do", idle)


main()
