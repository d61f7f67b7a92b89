"""Runs the S3 server of moto as a program."""

import argparse
import os
import sys
import threading

from moto.moto_server.threaded_moto_server import ThreadedMotoServer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import lifetime
from client import BUCKET, client

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, default=0)
arguments.add_argument("--seconds", type=float, default=3600)
arguments = arguments.parse_args()

lifetime.bound(arguments.seconds)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=arguments.port, verbose=False)
server.start()
_, port = server.get_host_and_port()
client(port).create_bucket(Bucket=BUCKET)
print(port, flush=True)
threading.Event().wait()
