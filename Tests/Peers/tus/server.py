"""Runs tuspyserver as a program, which stores finished uploads under the names in their metadata."""

import argparse
import hashlib
import json
import os
import socket
import sys

import uvicorn
from fastapi import FastAPI
from tuspyserver import create_tus_router

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import lifetime

arguments = argparse.ArgumentParser()
arguments.add_argument("--directory", required=True)
arguments.add_argument("--port", type=int, default=0)
arguments.add_argument("--seconds", type=float, default=3600)
arguments = arguments.parse_args()

lifetime.bound(arguments.seconds)
directory = os.path.abspath(arguments.directory)
unfinished = os.path.join(directory, ".unfinished")
os.makedirs(unfinished, exist_ok=True)


def finished(path: str, metadata: dict) -> None:
    """Writes the description after the file, so that an upload with a description is complete."""
    name = os.path.basename(metadata.get("filename") or os.path.basename(path))
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    description = {"size": os.path.getsize(path), "sha256": digest.hexdigest(), "metadata": metadata}
    target = os.path.join(directory, name)
    # The target is a hard link, because the server still uses its own name of the file.
    if os.path.exists(target):
        os.unlink(target)
    os.link(path, target)
    with open(target + ".upload.json.new", "w") as file:
        json.dump(description, file)
    os.rename(target + ".upload.json.new", target + ".upload.json")


app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=unfinished, on_upload_complete=finished))

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", arguments.port))
listener.listen()
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])
