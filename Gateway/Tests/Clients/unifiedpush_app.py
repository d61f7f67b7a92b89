#!/usr/bin/python3
"""An app of UnifiedPush, written from the specification alone: a connector of both versions on Debian's python3-dbus.

Usage: unifiedpush_app.py NAME LOG [--register TOKEN] [--unregister TOKEN] [--version 1|2] [--stay SECONDS] [--refuse]
The app requests NAME on the session bus. It appends a JSON line to LOG for every call from the distributor, and for every answer to its
own calls. Without --stay it ends after five seconds without a call, like an app that the bus has started for a message.
"""

import argparse
import json
import os
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

parser = argparse.ArgumentParser()
parser.add_argument("name")
parser.add_argument("log")
parser.add_argument("--register")
parser.add_argument("--unregister")
parser.add_argument("--description", default="An account")
parser.add_argument("--version", default="2")
parser.add_argument("--stay", type=float, default=5)
parser.add_argument("--refuse", action="store_true")
options = parser.parse_args()

DBusGMainLoop(set_as_default=True)
loop = GLib.MainLoop()
timer = None


def rest():
    global timer
    if timer:
        GLib.source_remove(timer)
    timer = GLib.timeout_add(int(options.stay * 1000), loop.quit)


def tell(word, **values):
    line = json.dumps({"call": word, **values}) + "\n"
    descriptor = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line.encode())
    os.fsync(descriptor)
    os.close(descriptor)
    rest()
    if options.refuse:
        raise dbus.DBusException("No.", name="org.example.Error.No")


class Connector(dbus.service.Object):
    @dbus.service.method("org.unifiedpush.Connector1", in_signature="says")
    def Message(self, token, message, identifier):
        tell("Message", version=1, token=str(token), message=bytes(message).hex(), id=str(identifier))

    @dbus.service.method("org.unifiedpush.Connector1", in_signature="ss")
    def NewEndpoint(self, token, endpoint):
        tell("NewEndpoint", version=1, token=str(token), endpoint=str(endpoint))

    @dbus.service.method("org.unifiedpush.Connector1", in_signature="s")
    def Unregistered(self, token):
        tell("Unregistered", version=1, token=str(token))


class Connector2(dbus.service.Object):
    @dbus.service.method("org.unifiedpush.Connector2", in_signature="a{sv}", out_signature="a{sv}")
    def Message(self, values):
        assert isinstance(values["message"], dbus.Array) and values["message"].signature == "y", "not ay"
        tell("Message", version=2, token=str(values["token"]), message=bytes(values["message"]).hex(),
             id=str(values.get("id", "")))
        return dbus.Dictionary({"id": values.get("id", "")}, signature="sv")

    @dbus.service.method("org.unifiedpush.Connector2", in_signature="a{sv}", out_signature="a{sv}")
    def NewEndpoint(self, values):
        tell("NewEndpoint", version=2, token=str(values["token"]), endpoint=str(values["endpoint"]))
        return dbus.Dictionary({}, signature="sv")

    @dbus.service.method("org.unifiedpush.Connector2", in_signature="a{sv}", out_signature="a{sv}")
    def Unregistered(self, values):
        tell("Unregistered", version=2, token=str(values["token"]))
        return dbus.Dictionary({}, signature="sv")


# Create the objects before requesting the name, so that the first call finds them.
bus = dbus.SessionBus()
connector = (Connector if options.version == "1" else Connector2)(bus, "/org/unifiedpush/Connector")
name = dbus.service.BusName(options.name, bus, do_not_queue=True)
rest()


def distributor():
    names = [str(name) for name in bus.list_names() if name.startswith("org.unifiedpush.Distributor.")]
    if not names:
        sys.exit("there is no distributor")
    return dbus.Interface(
        bus.get_object(names[0], "/org/unifiedpush/Distributor"), "org.unifiedpush.Distributor" + options.version)


def answered(*values):
    if options.version == "1":
        words = [str(value) for value in values]
        tell("answer", success=words[0] if words else "", reason=words[1] if len(words) > 1 else "")
    else:
        tell("answer", **{str(key): str(value) for key, value in values[0].items()})


def failed(error):
    tell("error", name=error.get_dbus_name(), text=error.get_dbus_message())


if options.register:
    arguments = (
        [options.name, options.register, options.description] if options.version == "1" else
        [dbus.Dictionary({"service": options.name, "token": options.register, "description": options.description,
                          "vapid": "B" * 87}, signature="sv")])
    distributor().Register(*arguments, reply_handler=answered, error_handler=failed, timeout=60)
if options.unregister:
    arguments = (
        [options.unregister] if options.version == "1" else
        [dbus.Dictionary({"token": options.unregister}, signature="sv")])
    distributor().Unregister(*arguments, reply_handler=answered, error_handler=failed, timeout=60)
tell_start = options.refuse
options.refuse = False
tell("started", arguments=sys.argv[3:])
options.refuse = tell_start
loop.run()
