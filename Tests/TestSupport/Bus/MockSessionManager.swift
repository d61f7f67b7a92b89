import Foundation

/// The environment interface of a systemd user manager. It ends with this object.
package final class MockSessionManager: Sendable {
    private let process: ChildProcess

    /// Starts the service. Its name may appear on the bus a little later.
    package init(on bus: PrivateBus, environment assignments: [String]) throws {
        let list = assignments.map { "'\($0)'" }.joined(separator: ", ")
        let program = """
            import dbus, dbus.mainloop.glib, dbus.service
            from gi.repository import GLib
            dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
            bus = dbus.bus.BusConnection('\(bus.address)')
            class Manager(dbus.service.Object):
                @dbus.service.method('org.freedesktop.DBus.Properties', in_signature='ss', out_signature='v')
                def Get(self, interface, name):
                    assert (interface, name) == ('org.freedesktop.systemd1.Manager', 'Environment')
                    return dbus.Array([\(list)], signature='s', variant_level=1)
            manager = Manager(bus, '/org/freedesktop/systemd1')
            name = dbus.service.BusName('org.freedesktop.systemd1', bus)
            GLib.MainLoop().run()
            """
        // This is the system's own Python, which has python3-dbus and python3-gi with the package python3-dbusmock.
        process = try ChildProcess("/usr/bin/python3", arguments: ["-c", program], errors: .inherit)
    }

    deinit {
        process.stop(SIGKILL)
    }
}
