import CSystemd
import Glibc
import NightshiftAPI

/// A connection to a message bus for any kind of message, used by one thread.
///
/// No method blocks: outgoing messages are queued, and incoming ones are read when poll(2) reports them.
final class MessageBus {
    private let bus: OpaquePointer

    /// Begins to connect to an address in the form of the D-Bus specification.
    init(address: String) throws(BusFailure) {
        var opened: OpaquePointer?
        try BusFailure.check(sd_bus_new(&opened))
        guard let opened else { throw BusFailure(code: ENOMEM) }
        bus = opened
        try BusFailure.check(sd_bus_set_address(bus, address))
        try BusFailure.check(sd_bus_set_bus_client(bus, 1))
        try BusFailure.check(sd_bus_start(bus))
    }

    deinit {
        sd_bus_close_unref(bus)
    }

    var descriptor: Int32 { sd_bus_get_fd(bus) }

    /// The events for which poll(2) waits.
    var events: Int16 { Int16(truncatingIfNeeded: max(0, sd_bus_get_events(bus))) }

    /// The time in seconds of CLOCK_MONOTONIC at which sd-bus must be called again; nil if sd-bus waits only for
    /// messages.
    var deadline: Double? {
        var microseconds: UInt64 = 0
        guard sd_bus_get_timeout(bus, &microseconds) > 0, microseconds != .max else { return nil }
        return Double(microseconds) / 1e6
    }

    /// An identifier of this bus, which is never used again; nil until the bus has answered.
    var identity: String? {
        guard sd_bus_is_ready(bus) > 0 else { return nil }
        var id = sd_id128_t()
        guard sd_bus_get_bus_id(bus, &id) >= 0 else { return nil }
        return withUnsafeBytes(of: id) { bytes in
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    func newCall(
        _ service: String, _ path: String, _ interface: String, _ member: String
    ) throws(BusFailure) -> OutgoingMessage {
        var message: OpaquePointer?
        try BusFailure.check(sd_bus_message_new_method_call(bus, &message, service, path, interface, member))
        guard let message else { throw BusFailure(code: ENOMEM) }
        return OutgoingMessage(owned: message)
    }

    func newAnswer(to call: HeldCall) throws(BusFailure) -> OutgoingMessage {
        var message: OpaquePointer?
        try BusFailure.check(sd_bus_message_new_method_return(call.pointer, &message))
        guard let message else { throw BusFailure(code: ENOMEM) }
        return OutgoingMessage(owned: message)
    }

    /// Answers a call with an error, if the caller expects an answer.
    func refuse(_ call: HeldCall, _ name: String, _ text: String) {
        guard call.expectsAnswer else { return }
        name.withCString { name in
            text.withCString { text in
                var error = sd_bus_error(name: name, message: text, _need_free: 0)
                _ = sd_bus_reply_method_error(call.pointer, &error)
            }
        }
    }

    func newSignal(_ path: String, _ interface: String, _ member: String) throws(BusFailure) -> OutgoingMessage {
        var message: OpaquePointer?
        try BusFailure.check(sd_bus_message_new_signal(bus, &message, path, interface, member))
        guard let message else { throw BusFailure(code: ENOMEM) }
        return OutgoingMessage(owned: message)
    }

    /// Queues a call. With `startsService`, the bus starts the service if it is not running.
    ///
    /// - Returns: the cookie of the call, which its answer contains.
    func send(_ call: OutgoingMessage, startsService: Bool = false) throws(BusFailure) -> UInt64 {
        try BusFailure.check(sd_bus_message_set_auto_start(call.pointer, startsService ? 1 : 0))
        var cookie: UInt64 = 0
        try BusFailure.check(sd_bus_send(bus, call.pointer, &cookie))
        return cookie
    }

    func emit(_ signal: OutgoingMessage) throws(BusFailure) {
        try BusFailure.check(sd_bus_send(bus, signal.pointer, nil))
    }

    /// Queues an answer, if the caller expects one.
    func answer(_ call: HeldCall, _ answer: OutgoingMessage) throws(BusFailure) {
        guard call.expectsAnswer else { return }
        try BusFailure.check(sd_bus_send(bus, answer.pointer, nil))
    }

    /// Reads messages until `read` returns a value for one, and returns that value; nil if there are no more messages.
    /// Also sends queued messages. Throws when the connection has ended.
    func next<Value>(_ read: (BusMessage) -> Value?) throws(BusFailure) -> Value? {
        while true {
            // The service installs no callbacks, so sd-bus returns every message that it does not handle itself.
            var message: OpaquePointer?
            let result = sd_bus_process(bus, &message)
            if result < 0 { throw BusFailure(code: -result) }
            if result == 0 { return nil }
            guard let message else { continue }
            defer { sd_bus_message_unref(message) }
            if let value = read(BusMessage(pointer: message)) { return value }
        }
    }

    static let daemon = "org.freedesktop.DBus"
    static let daemonPath = "/org/freedesktop/DBus"

    /// Returns the match rule for the signal that the owner of a name has changed.
    static func ownerChanged(_ name: String) -> String {
        "type='signal',sender='\(daemon)',interface='\(daemon)',member='NameOwnerChanged',arg0='\(name)'"
    }
}

/// A message to send, which is written from front to back.
final class OutgoingMessage {
    let pointer: OpaquePointer

    fileprivate init(owned pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        sd_bus_message_unref(pointer)
    }

    func append(_ text: String) throws(BusFailure) {
        try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("s"), text))
    }

    /// Appends an array of bytes (`ay`).
    func append(bytes: [UInt8]) throws(BusFailure) {
        let result = bytes.withUnsafeBytes {
            sd_bus_message_append_array(pointer, Self.code("y"), $0.baseAddress, $0.count)
        }
        try BusFailure.check(result)
    }

    func append(_ number: UInt32) throws(BusFailure) {
        var number = number
        try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("u"), &number))
    }

    func append(_ number: Int32) throws(BusFailure) {
        var number = number
        try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("i"), &number))
    }

    func append(path: String) throws(BusFailure) {
        try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("o"), path))
    }

    func append(truth: Bool) throws(BusFailure) {
        // sd-bus expects booleans as int.
        var number: Int32 = truth ? 1 : 0
        try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("b"), &number))
    }

    func append(variant value: OutgoingValue) throws(BusFailure) {
        try container("v", value.signature) { () throws(BusFailure) in try append(value) }
    }

    func append(_ texts: [String]) throws(BusFailure) {
        try container("a", "s") { () throws(BusFailure) in
            for text in texts { try append(text) }
        }
    }

    /// Appends a dictionary of names and variants (`a{sv}`).
    func append(_ values: [(String, OutgoingValue)]) throws(BusFailure) {
        try container("a", "{sv}") { () throws(BusFailure) in
            for (name, value) in values {
                try container("e", "sv") { () throws(BusFailure) in
                    try append(name)
                    try append(variant: value)
                }
            }
        }
    }

    private func append(_ value: OutgoingValue) throws(BusFailure) {
        switch value {
        case .text(let text): try append(text)
        case .truth(let truth): try append(truth: truth)
        case .number(let number): try append(number)
        case .bytes(let bytes): try append(bytes: bytes)
        case .byte(var byte):
            try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("y"), &byte))
        case .long(var number):
            try BusFailure.check(sd_bus_message_append_basic(pointer, Self.code("x"), &number))
        }
    }

    private func container(
        _ type: Unicode.Scalar, _ contents: String, _ body: () throws(BusFailure) -> Void
    ) throws(BusFailure) {
        try BusFailure.check(sd_bus_message_open_container(pointer, Self.code(type), contents))
        try body()
        try BusFailure.check(sd_bus_message_close_container(pointer))
    }

    private static func code(_ type: Unicode.Scalar) -> CChar { CChar(type.value) }
}

/// A value in the dictionary of an outgoing message.
enum OutgoingValue: Equatable, Sendable {
    case text(String)
    case truth(Bool)
    case byte(UInt8)
    case number(UInt32)
    case long(Int64)
    case bytes([UInt8])

    var signature: String {
        switch self {
        case .text: "s"
        case .truth: "b"
        case .byte: "y"
        case .number: "u"
        case .long: "x"
        case .bytes: "ay"
        }
    }
}

extension BusFailure {
    /// - Parameter code: an error number of errno(3).
    init(code: Int32) {
        self.init(String(cString: strerror(code)))
    }

    static func check(_ result: Int32) throws(BusFailure) {
        if result < 0 { throw BusFailure(code: -result) }
    }
}
