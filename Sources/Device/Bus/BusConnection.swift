import CSystemd
import Glibc
import NightshiftAPI

/// One connection to a message bus, of one thread.
///
/// Nothing blocks: messages are queued, and what has arrived is taken when poll(2) says so. Services are never started by
/// a question.
final class BusConnection {
    private let bus: OpaquePointer
    /// Questions under way, by the numbers of their messages.
    private var asked: [UInt64: BusRequest] = [:]

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

    func send(_ request: BusRequest) throws(BusFailure) {
        let message = try newCall(for: request)
        defer { sd_bus_message_unref(message) }
        for argument in request.arguments {
            try Self.check(sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), argument))
        }
        try Self.check(sd_bus_message_set_auto_start(message, 0))
        var cookie: UInt64 = 0
        try Self.check(sd_bus_send(bus, message, &cookie))
        asked[cookie] = request
    }

    /// What has arrived next, nil when there is nothing more. Sends what is queued, too. Throws when the connection has
    /// ended.
    func next() throws(BusFailure) -> BusEvent? {
        while true {
            // Without callbacks of ours, sd-bus hands over every message that is not its own business.
            var message: OpaquePointer?
            let result = sd_bus_process(bus, &message)
            if result < 0 { throw Self.failure(-result) }
            if result == 0 { return nil }
            guard let message else { continue }
            defer { sd_bus_message_unref(message) }
            if let event = event(BusMessage(pointer: message)) { return event }
        }
    }

    private func event(_ message: BusMessage) -> BusEvent? {
        guard let cookie = message.answeredCookie else { return signal(message) }
        guard let request = asked.removeValue(forKey: cookie) else { return nil }
        return message.answer(to: request)
    }

    private func signal(_ message: BusMessage) -> BusEvent? {
        guard let sender = message.sender else { return nil }
        if sender == Self.daemon, message.isSignal(Self.daemon, "NameOwnerChanged") { return message.ownerChange() }
        if message.isSignal("org.freedesktop.DBus.Properties", "PropertiesChanged") {
            return message.propertyChange(sender: sender)
        }
        if message.isSignal(BusObject.logind.interface, "PrepareForSleep") {
            return .prepareForSleep(sender: sender, try? message.readTruth())
        }
        return nil
    }

    private func newCall(for request: BusRequest) throws(BusFailure) -> OpaquePointer {
        var message: OpaquePointer?
        switch request {
        case .subscribe:
            try Self.check(
                sd_bus_message_new_method_call(bus, &message, Self.daemon, Self.daemonPath, Self.daemon, "AddMatch"))
        case .owner:
            try Self.check(
                sd_bus_message_new_method_call(bus, &message, Self.daemon, Self.daemonPath, Self.daemon, "GetNameOwner")
            )
        case .properties(let object, _):
            try Self.check(
                sd_bus_message_new_method_call(
                    bus, &message, object.service.rawValue, object.path, "org.freedesktop.DBus.Properties", "GetAll"))
        case .device:
            let manager = BusObject.networkManager
            try Self.check(
                sd_bus_message_new_method_call(
                    bus, &message, manager.service.rawValue, manager.path, manager.interface, "GetDeviceByIpIface"))
        case .deviceState(let path, _):
            try Self.check(
                sd_bus_message_new_method_call(
                    bus, &message, BusService.networkManager.rawValue, path, "org.freedesktop.DBus.Properties", "GetAll"
                ))
        case .inhibit:
            let logind = BusObject.logind
            try Self.check(
                sd_bus_message_new_method_call(
                    bus, &message, logind.service.rawValue, logind.path, logind.interface, "Inhibit"))
        }
        guard let message else { throw Self.failure(ENOMEM) }
        return message
    }

    private static let daemon = "org.freedesktop.DBus"
    private static let daemonPath = "/org/freedesktop/DBus"

    private static func check(_ result: Int32) throws(BusFailure) {
        if result < 0 { throw failure(-result) }
    }

    private static func failure(_ code: Int32) -> BusFailure {
        BusFailure(String(cString: strerror(code)))
    }
}

extension BusRequest {
    /// All of them are strings.
    fileprivate var arguments: [String] {
        switch self {
        case .subscribe(let rule): [rule]
        case .owner(let service): [service.rawValue]
        case .properties(let object, _): [object.interface]
        // systemd's documentation of inhibitor locks: what, who, why, mode.
        case .device(let interface, _): [interface]
        case .deviceState: ["org.freedesktop.NetworkManager.Device"]
        case .inhibit(let why, _): ["sleep:idle", "Nightshift", why, "block"]
        }
    }
}

extension BusMessage {
    fileprivate func answer(to request: BusRequest) -> BusEvent? {
        switch request {
        case .subscribe:
            return isError ? .subscriptionFailed(failure) : nil
        case .owner(let service):
            // An error says that nobody has the name.
            return .owner(service, isError ? nil : try? readText())
        case .properties(let object, let number):
            return .properties(
                object, number: number,
                result { () throws(BusFailure) in
                    try readProperties(object.properties)
                })
        case .device(_, let number):
            return .device(number: number, path: isError ? nil : try? readText("o"))
        case .deviceState(_, let number):
            guard !isError, case .integer(let state)? = try? readProperties(["State"])["State"] else {
                return .deviceState(number: number, nil)
            }
            return .deviceState(number: number, state)
        case .inhibit(_, let number):
            return .lock(
                number: number,
                result { () throws(BusFailure) in
                    let own = fcntl(try readDescriptor(), F_DUPFD_CLOEXEC, 3)
                    guard own >= 0 else { throw BusFailure(String(cString: strerror(errno))) }
                    return own
                })
        }
    }

    fileprivate func ownerChange() -> BusEvent? {
        guard let name = try? readText(), let service = BusService(rawValue: name), (try? readText()) != nil,
            let owner = try? readText()
        else { return nil }
        return .owner(service, owner.isEmpty ? nil : owner)
    }

    fileprivate func propertyChange(sender: String) -> BusEvent? {
        guard let interface = try? readText(),
            let object = BusObject.allCases.first(where: { $0.interface == interface && $0.path == path })
        else { return nil }
        let change = result { () throws(BusFailure) in
            PropertyChange(
                changed: try readProperties(object.properties),
                invalidated: object.properties.intersection(try readTexts()))
        }
        // A value that cannot be read has to be requested.
        let unread = PropertyChange(changed: [:], invalidated: object.properties)
        return .changed(object, sender: sender, (try? change.get()) ?? unread)
    }

    private func result<Value>(_ read: () throws(BusFailure) -> Value) -> Result<Value, BusFailure> {
        if isError { return .failure(failure) }
        do {
            return .success(try read())
        } catch {
            return .failure(error)
        }
    }
}
