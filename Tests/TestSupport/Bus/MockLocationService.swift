import Foundation

/// GeoClue or ModemManager on a ``PrivateBus``, mocked by python3-dbusmock with this project's templates.
///
/// It ends with ``stop()``, with this object, or with this process.
package final class MockLocationService: Sendable {
    package let bus: PrivateBus
    package let kind: Kind
    private let process: ChildProcess
    /// The directory of the template, which dbusmock reads by its path.
    private let directory: TemporaryDirectory

    package enum Kind: Sendable {
        /// GeoClue's interfaces for locations.
        case geoClue
        /// ModemManager's interfaces for the cells of its modems.
        case modemManager

        fileprivate var name: String {
            switch self {
            case .geoClue: "org.freedesktop.GeoClue2"
            case .modemManager: "org.freedesktop.ModemManager1"
            }
        }

        fileprivate var path: String {
            switch self {
            case .geoClue: "/org/freedesktop/GeoClue2/Manager"
            case .modemManager: "/org/freedesktop/ModemManager1"
            }
        }

        fileprivate var template: String {
            switch self {
            case .geoClue: MockLocationService.geoClueTemplate
            case .modemManager: MockLocationService.modemManagerTemplate
            }
        }
    }

    /// Starts the service. Returns when it responds.
    package init(_ kind: Kind, on bus: PrivateBus) async throws {
        self.bus = bus
        self.kind = kind
        directory = try TemporaryDirectory()
        var environment = ProcessInfo.processInfo.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus.address
        // This is the system's own Python, which has the package python3-dbusmock.
        process = try ChildProcess(
            "/usr/bin/python3",
            arguments: ["-m", "dbusmock", "--template", try directory.write(kind.template, to: "template.py")],
            environment: environment, errors: .inherit)
        try await eventually("dbusmock's \(kind), of Debian's package python3-dbusmock") {
            if let exit = process.exit { throw CannotRun("dbusmock", ended: exit) }
            // This call succeeds only once the template is loaded.
            return (try? await call("org.freedesktop.DBus.Mock", "GetCalls")) != nil
        }
    }

    deinit {
        stop()
    }

    package func stop() {
        process.stop(SIGKILL)
    }

    /// Stops the service, so that it keeps its name but does not respond, or lets it continue.
    package func freeze(_ isFrozen: Bool) {
        process.kill(isFrozen ? SIGSTOP : SIGCONT)
    }

    /// Returns the calls that the service has received.
    package func calls() async throws -> String {
        try await call("org.freedesktop.DBus.Mock", "GetCalls")
    }

    /// Calls a method of the template's interface `org.example.Test`, with arguments in the syntax of busctl(1).
    @discardableResult
    package func tell(_ method: String, _ arguments: String...) async throws -> String {
        try await call("org.example.Test", method, arguments)
    }

    private func call(_ interface: String, _ method: String, _ arguments: [String] = []) async throws -> String {
        try await bus.call(kind.name, kind.path, interface, method, arguments)
    }

    /// The template of GeoClue. Clients receive locations while they are started. `RequestedAccuracyLevel` is shown but
    /// has no effect.
    private static let geoClueTemplate = #"""
        import dbus
        from dbusmock import mockobject
        BUS_NAME = 'org.freedesktop.GeoClue2'
        MAIN_OBJ = '/org/freedesktop/GeoClue2/Manager'
        MAIN_IFACE = 'org.freedesktop.GeoClue2.Manager'
        SYSTEM_BUS = True
        CLIENT = 'org.freedesktop.GeoClue2.Client'
        TEST = 'org.example.Test'

        def create(manager):
            manager.made += 1
            path = '/org/freedesktop/GeoClue2/Client/%d' % manager.made
            manager.AddObject(path, CLIENT, {
                'DesktopId': dbus.String(''), 'DistanceThreshold': dbus.UInt32(0), 'TimeThreshold': dbus.UInt32(0),
                'RequestedAccuracyLevel': dbus.UInt32(0), 'Active': dbus.Boolean(False)},
                [('Start', '', '', start), ('Stop', '', '', stop)])
            manager.paths.append(path)
            return dbus.ObjectPath(path)

        def delete(manager, path):
            manager.paths.remove(path)
            manager.RemoveObject(path)

        def announce(client, old, new):
            client.EmitSignal(CLIENT, 'LocationUpdated', 'oo', [dbus.ObjectPath(old), dbus.ObjectPath(new)])

        def start(client):
            manager = mockobject.objects[MAIN_OBJ]
            if manager.refusal:
                raise dbus.exceptions.DBusException(manager.refusal, name='org.freedesktop.DBus.Error.AccessDenied')
            client.props[CLIENT]['Active'] = dbus.Boolean(True)
            if manager.place:
                announce(client, '/', manager.place)

        def stop(client):
            client.props[CLIENT]['Active'] = dbus.Boolean(False)

        def set_place(manager, latitude, longitude, accuracy):
            old = manager.place or '/'
            manager.told += 1
            manager.place = '/org/freedesktop/GeoClue2/Location/%d' % manager.told
            manager.AddObject(manager.place, 'org.freedesktop.GeoClue2.Location', {
                'Latitude': dbus.Double(latitude), 'Longitude': dbus.Double(longitude),
                'Accuracy': dbus.Double(accuracy),
                'Altitude': dbus.Double(-1e300), 'Description': dbus.String('')}, [])
            for path in manager.paths:
                client = mockobject.objects[path]
                if client.props[CLIENT]['Active']:
                    announce(client, old, manager.place)

        def refuse(manager, refusal):
            manager.refusal = refusal

        def clients(manager):
            lines = []
            for path in manager.paths:
                p = mockobject.objects[path].props[CLIENT]
                if p['Active']:
                    lines.append('%s level %d distance %d time %d' % (
                        p['DesktopId'], p['RequestedAccuracyLevel'], p['DistanceThreshold'], p['TimeThreshold']))
            return '%d made, %d there: %s' % (manager.made, len(manager.paths), '; '.join(lines))

        def load(mock, parameters):
            mock.made, mock.told, mock.place, mock.paths, mock.refusal = 0, 0, None, [], ''
            mock.AddMethod(MAIN_IFACE, 'CreateClient', '', 'o', create)
            mock.AddMethod(MAIN_IFACE, 'DeleteClient', 'o', '', delete)
            mock.AddMethod(TEST, 'SetPlace', 'ddd', '', set_place)
            mock.AddMethod(TEST, 'Refuse', 's', '', refuse)
            mock.AddMethod(TEST, 'Clients', '', 's', clients)
        """#

    /// The template of ModemManager. Modems report their cell while they are switched on and set up to do so.
    private static let modemManagerTemplate = #"""
        import dbus
        from dbusmock import mockobject
        BUS_NAME = 'org.freedesktop.ModemManager1'
        MAIN_OBJ = '/org/freedesktop/ModemManager1'
        MAIN_IFACE = 'org.freedesktop.ModemManager1'
        SYSTEM_BUS = True
        IS_OBJECT_MANAGER = True
        MODEM = 'org.freedesktop.ModemManager1.Modem'
        LOCATION = 'org.freedesktop.ModemManager1.Modem.Location'
        TEST = 'org.example.Test'

        def places(text):
            return dbus.Dictionary({dbus.UInt32(1): dbus.String(text)} if text else {}, signature='uv')

        def update(modem, changes):
            modem.props[LOCATION].update(changes)
            modem.EmitSignal(
                'org.freedesktop.DBus.Properties', 'PropertiesChanged', 'sa{sv}as', [LOCATION, changes, []])

        def set_up(modem, sources, signals):
            manager = mockobject.objects[MAIN_OBJ]
            if manager.refusal:
                raise dbus.exceptions.DBusException(
                    manager.refusal, name='org.freedesktop.ModemManager1.Error.Core.Unauthorized')
            if manager.state < 6:
                raise dbus.exceptions.DBusException(
                    'Cannot setup location: device not yet enabled',
                    name='org.freedesktop.ModemManager1.Error.Core.WrongState')
            update(modem, {
                'Enabled': dbus.UInt32(sources), 'SignalsLocation': dbus.Boolean(signals),
                'Location': places(manager.cell if signals else '')})

        def plug(manager, capabilities):
            path = '/org/freedesktop/ModemManager1/Modem/%d' % manager.plugged
            manager.plugged += 1
            manager.AddObject(path, LOCATION, {
                'Capabilities': dbus.UInt32(capabilities), 'Enabled': dbus.UInt32(0),
                'SignalsLocation': dbus.Boolean(False),
                'Location': places('')}, [('Setup', 'ub', '', set_up)])
            mockobject.objects[path].props[MODEM] = {'State': dbus.Int32(manager.state)}
            manager.modems.append(path)
            manager.object_manager_emit_added(path)

        def unplug(manager):
            for path in manager.modems:
                manager.EmitSignal(
                    'org.freedesktop.DBus.ObjectManager', 'InterfacesRemoved', 'oas',
                    [dbus.ObjectPath(path), [LOCATION]])
                manager.RemoveObject(path)
            manager.modems = []

        def set_cell(manager, cell):
            manager.cell = cell
            for path in manager.modems:
                modem = mockobject.objects[path]
                if modem.props[LOCATION]['SignalsLocation']:
                    update(modem, {'Location': places(cell)})

        def switch(manager, state):
            old, manager.state = manager.state, state
            for path in manager.modems:
                modem = mockobject.objects[path]
                modem.props[MODEM]['State'] = dbus.Int32(state)
                modem.EmitSignal(MODEM, 'StateChanged', 'iiu', [dbus.Int32(old), dbus.Int32(state), dbus.UInt32(0)])
                if state < 6:
                    update(modem, {'Enabled': dbus.UInt32(0), 'Location': places('')})
                elif old < 6:
                    signals = modem.props[LOCATION]['SignalsLocation']
                    update(modem, {
                        'Enabled': dbus.UInt32(1), 'Location': places(manager.cell if signals else '')})

        def refuse(manager, refusal):
            manager.refusal = refusal

        def modems(manager):
            read = [mockobject.objects[path].props[LOCATION] for path in manager.modems]
            return '; '.join('enabled %d signals %d' % (one['Enabled'], one['SignalsLocation']) for one in read)

        def load(mock, parameters):
            mock.plugged, mock.modems, mock.cell, mock.refusal, mock.state = 0, [], '', '', 8
            mock.AddMethod(TEST, 'Plug', 'u', '', plug)
            mock.AddMethod(TEST, 'Unplug', '', '', unplug)
            mock.AddMethod(TEST, 'Switch', 'i', '', switch)
            mock.AddMethod(TEST, 'SetCell', 's', '', set_cell)
            mock.AddMethod(TEST, 'Refuse', 's', '', refuse)
            mock.AddMethod(TEST, 'Modems', '', 's', modems)
        """#
}
