import CDesktop
import Glibc
import NightshiftAPI

/// A connection to a Wayland compositor that reports its toplevel windows. Used by one thread.
///
/// No method blocks: events are read when poll(2) reports them.
final class WaylandConnection {
    private let wayland: nightshift_wayland
    private let display: OpaquePointer
    private var registry: OpaquePointer?
    private var manager: OpaquePointer?
    /// The number of the toplevel manager in the registry; nil if the compositor has not announced a manager.
    private var managerName: UInt32?
    private var handles: Set<UInt> = []
    private var list = ToplevelList()
    /// Whether the compositor has completed its initial announcements.
    private var isAnnounced = false
    private var sync: OpaquePointer?

    private static let managerInterface = "zwlr_foreign_toplevel_manager_v1"
    private static let newestVersion: UInt32 = 3

    init(path: String) throws(FocusFailure) {
        var wayland = nightshift_wayland()
        guard nightshift_wayland_load(&wayland) else {
            throw FocusFailure("libwayland-client.so.0 is not installed")
        }
        let socket = try Self.connect(path)
        guard let display = wayland.display_connect_to_fd(socket) else {
            close(socket)
            throw FocusFailure("libwayland-client cannot use the socket \(path)")
        }
        self.wayland = wayland
        self.display = display
        registry = request(of: display, Self.getRegistry, wayland.registry_interface, version: 1, [wl_argument()])
        guard let registry, listen(to: registry) else { throw FocusFailure("libwayland-client is out of memory") }
        requestSync()
    }

    deinit {
        for handle in handles { wayland.proxy_destroy(OpaquePointer(bitPattern: handle)) }
        for proxy in [manager, registry, sync] {
            if let proxy { wayland.proxy_destroy(proxy) }
        }
        wayland.display_disconnect(display)
    }

    var descriptor: Int32 { wayland.display_get_fd(display) }

    /// The report that follows from the events read so far; nil until the compositor has announced its interfaces.
    var report: FocusReport? {
        if manager != nil { return FocusReport(application: list.front, source: .wlrForeignToplevel) }
        return isAnnounced ? .nobody("the Wayland compositor does not offer wlr-foreign-toplevel-management") : nil
    }

    /// Reads and handles the events that have arrived. Throws when the connection has ended.
    func process() throws(FocusFailure) {
        while wayland.display_prepare_read(display) != 0 { try dispatch() }
        // This call ends the prepared read and does not block, even if no data has arrived.
        guard wayland.display_read_events(display) >= 0 || errno == EAGAIN else { throw failure }
        try dispatch()
        guard wayland.display_flush(display) >= 0 || errno == EAGAIN else { throw failure }
    }

    private func dispatch() throws(FocusFailure) {
        guard wayland.display_dispatch_pending(display) >= 0 else { throw failure }
    }

    private var failure: FocusFailure {
        let code = wayland.display_get_error(display)
        let reason = String(cString: strerror(code == 0 ? ECONNRESET : code))
        return FocusFailure("the connection to the compositor was lost: \(reason)")
    }

    // MARK: - Requests

    // These are the request opcodes of wayland.xml and of wlr-foreign-toplevel-management.
    private static let sync: UInt32 = 0
    private static let getRegistry: UInt32 = 1
    private static let bind: UInt32 = 0
    private static let destroy: UInt32 = 7

    private func requestSync() {
        var callback = wl_argument()
        callback.o = nil
        sync = request(of: display, Self.sync, wayland.callback_interface, version: 1, [callback])
        if let sync { _ = listen(to: sync) }
    }

    private func bindManager(name: UInt32, version: UInt32) {
        guard manager == nil, let registry else { return }
        let version = min(version, Self.newestVersion)
        Self.managerInterface.withCString { interface in
            // The bind request of the registry also needs the interface name and version of the new object.
            var arguments = [wl_argument](repeating: wl_argument(), count: 4)
            arguments[0].u = name
            arguments[1].s = interface
            arguments[2].u = version
            manager = request(
                of: registry, Self.bind, nightshift_toplevel_manager_description(), version: version, arguments)
        }
        managerName = name
        if let manager { _ = listen(to: manager) }
    }

    /// Sends a request that creates an object.
    private func request(
        of proxy: OpaquePointer, _ number: UInt32, _ interface: UnsafePointer<wl_interface>?, version: UInt32,
        _ arguments: [wl_argument]
    ) -> OpaquePointer? {
        var arguments = arguments
        return wayland.proxy_marshal_array_constructor_versioned(proxy, number, &arguments, interface, version)
    }

    private func forget(_ handle: OpaquePointer) {
        handles.remove(UInt(bitPattern: handle))
        var none = wl_argument()
        wayland.proxy_marshal_array(handle, Self.destroy, &none)
        wayland.proxy_destroy(handle)
    }

    // MARK: - Events

    /// Sets ``receive(_:_:_:)`` as the handler of an object's events.
    private func listen(to proxy: OpaquePointer) -> Bool {
        wayland.proxy_add_dispatcher(
            proxy,
            { connection, target, number, _, arguments in
                guard let connection, let target, let arguments else { return 0 }
                Unmanaged<WaylandConnection>.fromOpaque(connection).takeUnretainedValue()
                    .receive(OpaquePointer(target), number, arguments)
                return 0
            },
            // This object need not be retained, because it ends the connection and all Wayland objects before it is
            // freed.
            Unmanaged.passUnretained(self).toOpaque(), nil) == 0
    }

    private func receive(_ object: OpaquePointer, _ number: UInt32, _ arguments: UnsafeMutablePointer<wl_argument>) {
        switch object {
        case registry: registryEvent(number, arguments)
        case manager: managerEvent(number, arguments)
        case sync:
            wayland.proxy_destroy(object)
            sync = nil
            isAnnounced = true
        default: toplevelEvent(object, number, arguments)
        }
    }

    private func registryEvent(_ number: UInt32, _ arguments: UnsafeMutablePointer<wl_argument>) {
        switch number {
        case 0:  // global
            guard let name = arguments[1].s, String(cString: name) == Self.managerInterface else { return }
            bindManager(name: arguments[0].u, version: arguments[2].u)
        case 1 where arguments[0].u == managerName: forgetManager()  // global_remove
        default: break
        }
    }

    private func managerEvent(_ number: UInt32, _ arguments: UnsafeMutablePointer<wl_argument>) {
        switch number {
        case 0:  // toplevel
            guard let handle = arguments[0].o else { return }
            guard list.opened(UInt64(UInt(bitPattern: handle))), listen(to: handle) else { return forget(handle) }
            handles.insert(UInt(bitPattern: handle))
        case 1: forgetManager()  // finished
        default: break
        }
    }

    private func toplevelEvent(
        _ handle: OpaquePointer, _ number: UInt32, _ arguments: UnsafeMutablePointer<wl_argument>
    ) {
        let window = UInt64(UInt(bitPattern: handle))
        switch number {
        case 1: if let name = arguments[0].s { list.named(window, String(cString: name)) }  // app_id
        case 4: if let array = arguments[0].a { list.stateIs(window, isActivated: Self.isActivated(array.pointee)) }
        case 5: list.finished(window)  // done
        case 6:  // closed
            list.closed(window)
            forget(handle)
        default: break  // The title and all other properties are ignored.
        }
    }

    private func forgetManager() {
        for handle in handles {
            guard let handle = OpaquePointer(bitPattern: handle) else { continue }
            forget(handle)
        }
        if let manager { wayland.proxy_destroy(manager) }
        manager = nil
        managerName = nil
        list = ToplevelList()
    }

    /// The number of the state in wlr-foreign-toplevel-management.
    private static let activated: UInt32 = 2

    private static func isActivated(_ states: wl_array) -> Bool {
        guard let data = states.data else { return false }
        let bytes = UnsafeRawBufferPointer(start: data, count: states.size)
        return stride(from: 0, to: bytes.count - bytes.count % 4, by: 4).contains {
            bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self) == activated
        }
    }

    // MARK: - The socket

    private static func connect(_ path: String) throws(FocusFailure) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < room else { throw FocusFailure("\(path) is too long for a socket") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard socket >= 0 else { throw FocusFailure(String(cString: strerror(errno))) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(socket)
            throw FocusFailure("\(path): \(String(cString: strerror(code)))")
        }
        return socket
    }
}

/// The reason why a display cannot be reached, or why its connection ended.
struct FocusFailure: Error, Equatable {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}
