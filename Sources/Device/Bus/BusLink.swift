import CSystemd
import Glibc

/// One connection to a message bus, of one thread.
///
/// Nothing blocks: messages are queued, and what has arrived is taken when poll(2) says so.
final class BusLink {
    private let bus: OpaquePointer

    static let daemon = "org.freedesktop.DBus"
    static let daemonPath = "/org/freedesktop/DBus"

    /// Begins to connect to an address of the D-Bus specification's form.
    init(address: String) throws(BusFailure) {
        var opened: OpaquePointer?
        try Self.check(sd_bus_new(&opened))
        guard let opened else { throw Self.failure(ENOMEM) }
        bus = opened
        try Self.check(sd_bus_set_address(bus, address))
        try Self.check(sd_bus_set_bus_client(bus, 1))
        try Self.check(sd_bus_start(bus))
    }

    deinit {
        sd_bus_close_unref(bus)
    }

    var descriptor: Int32 { sd_bus_get_fd(bus) }

    /// The events to poll for.
    var events: Int16 { Int16(truncatingIfNeeded: max(0, sd_bus_get_events(bus))) }

    /// Seconds of CLOCK_MONOTONIC at which sd-bus wants to look again; nil when it waits for the bus alone.
    var deadline: Double? {
        var microseconds: UInt64 = 0
        guard sd_bus_get_timeout(bus, &microseconds) > 0, microseconds != .max else { return nil }
        return Double(microseconds) / 1e6
    }

    /// Begins a call of a method. With `startsService` the bus starts the service where it does not run.
    func call(_ method: BusMethod, startsService: Bool = false) throws(BusFailure) -> BusCall {
        var message: OpaquePointer?
        try Self.check(
            sd_bus_message_new_method_call(
                bus, &message, method.service, method.path, method.interface, method.member))
        guard let message else { throw Self.failure(ENOMEM) }
        let call = BusCall(bus: bus, message: message)
        try Self.check(sd_bus_message_set_auto_start(message, startsService ? 1 : 0))
        return call
    }

    /// What `read` makes of the message that has arrived next, nil when there is none. Sends what is queued, too. Throws when
    /// the connection has ended.
    func next<Value>(_ read: (BusMessage) -> Value) throws(BusFailure) -> Value? {
        while true {
            // Without callbacks of ours, sd-bus hands over every message that is not its own business.
            var message: OpaquePointer?
            let result = sd_bus_process(bus, &message)
            if result < 0 { throw Self.failure(-result) }
            if result == 0 { return nil }
            guard let message else { continue }
            defer { sd_bus_message_unref(message) }
            return read(BusMessage(pointer: message))
        }
    }

    fileprivate static func check(_ result: Int32) throws(BusFailure) {
        if result < 0 { throw failure(-result) }
    }

    private static func failure(_ code: Int32) -> BusFailure {
        BusFailure(String(cString: strerror(code)))
    }
}

/// A method of an object on a bus.
struct BusMethod {
    var service: String
    var path: String
    var interface: String
    var member: String

    init(_ service: String, _ path: String, _ interface: String, _ member: String) {
        self.service = service
        self.path = path
        self.interface = interface
        self.member = member
    }
}

/// A call that is being put together.
final class BusCall {
    private let bus: OpaquePointer
    private let message: OpaquePointer

    /// Takes the message over. The bus has to outlive this.
    fileprivate init(bus: OpaquePointer, message: OpaquePointer) {
        self.bus = bus
        self.message = message
    }

    deinit {
        sd_bus_message_unref(message)
    }

    func append(_ text: String) throws(BusFailure) {
        try BusLink.check(sd_bus_message_append_basic(message, Self.code("s"), text))
    }

    func append(path: String) throws(BusFailure) {
        try BusLink.check(sd_bus_message_append_basic(message, Self.code("o"), path))
    }

    func append(_ number: UInt32) throws(BusFailure) {
        var number = number
        try BusLink.check(sd_bus_message_append_basic(message, Self.code("u"), &number))
    }

    func append(_ truth: Bool) throws(BusFailure) {
        var number: Int32 = truth ? 1 : 0
        try BusLink.check(sd_bus_message_append_basic(message, Self.code("b"), &number))
    }

    /// A variant.
    func append(_ value: BusValue) throws(BusFailure) {
        switch value {
        case .text(let text):
            try inVariant("s") { () throws(BusFailure) in try append(text) }
        case .integer(let integer):
            try inVariant("u") { () throws(BusFailure) in try append(UInt32(clamping: integer)) }
        case .truth, .number, .other: throw BusFailure("is not sent such a value")
        }
    }

    /// The number of the message, which its answer names.
    func send() throws(BusFailure) -> UInt64 {
        var cookie: UInt64 = 0
        try BusLink.check(sd_bus_send(bus, message, &cookie))
        return cookie
    }

    private func inVariant(_ signature: String, _ append: () throws(BusFailure) -> Void) throws(BusFailure) {
        try BusLink.check(sd_bus_message_open_container(message, Self.code("v"), signature))
        try append()
        try BusLink.check(sd_bus_message_close_container(message))
    }

    private static func code(_ type: Unicode.Scalar) -> CChar { CChar(type.value) }
}
