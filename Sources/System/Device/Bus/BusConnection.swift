import Glibc

/// A connection to a message bus, used by one thread.
///
/// No method blocks: outgoing messages are queued, and incoming ones are read when poll(2) reports them. A request
/// never makes the bus start a service.
final class BusConnection {
    private let bus: MessageBus
    /// The requests in progress, by the cookies of their messages.
    private var asked: [UInt64: BusRequest] = [:]

    /// Begins to connect to an address in the form of the D-Bus specification.
    init(address: String) throws(BusFailure) {
        bus = try MessageBus(address: address)
    }

    var descriptor: Int32 { bus.descriptor }

    /// The events for which poll(2) waits.
    var events: Int16 { bus.events }

    /// The time in seconds of CLOCK_MONOTONIC at which sd-bus must be called again; nil if sd-bus waits only for
    /// messages.
    var deadline: Double? { bus.deadline }

    func send(_ request: BusRequest) throws(BusFailure) {
        let call = try newCall(for: request)
        for argument in request.arguments { try call.append(argument) }
        asked[try bus.send(call)] = request
    }

    /// Returns the next event that has arrived, or nil if there are no more, and sends queued messages. Throws when the
    /// connection has ended.
    func next() throws(BusFailure) -> BusEvent? {
        try bus.next { event($0) }
    }

    private func event(_ message: BusMessage) -> BusEvent? {
        guard let cookie = message.answeredCookie else { return signal(message) }
        guard let request = asked.removeValue(forKey: cookie) else { return nil }
        return message.answer(to: request)
    }

    private func signal(_ message: BusMessage) -> BusEvent? {
        guard let sender = message.sender else { return nil }
        if sender == MessageBus.daemon, message.isSignal(MessageBus.daemon, "NameOwnerChanged") {
            return message.ownerChange()
        }
        if message.isSignal(Self.properties, "PropertiesChanged") {
            return message.propertyChange(sender: sender)
        }
        if message.isSignal(BusObject.logind.interface, "PrepareForSleep") {
            return .prepareForSleep(sender: sender, try? message.readTruth())
        }
        if message.isSignal(BusObject.logind.interface, "SessionNew")
            || message.isSignal(BusObject.logind.interface, "SessionRemoved")
        {
            return .sessionsChanged(sender: sender)
        }
        return nil
    }

    private func newCall(for request: BusRequest) throws(BusFailure) -> OutgoingMessage {
        switch request {
        case .subscribe:
            return try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "AddMatch")
        case .owner:
            return try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "GetNameOwner")
        case .properties(let object, _):
            return try bus.newCall(object.service.rawValue, object.path, Self.properties, "GetAll")
        case .device:
            let manager = BusObject.networkManager
            return try bus.newCall(manager.service.rawValue, manager.path, manager.interface, "GetDeviceByIpIface")
        case .deviceState(let path, _):
            return try bus.newCall(BusService.networkManager.rawValue, path, Self.properties, "GetAll")
        case .inhibit:
            let logind = BusObject.logind
            return try bus.newCall(logind.service.rawValue, logind.path, logind.interface, "Inhibit")
        }
    }

    private static let properties = "org.freedesktop.DBus.Properties"
}

extension BusRequest {
    /// The arguments of the call. All of them are strings.
    fileprivate var arguments: [String] {
        switch self {
        case .subscribe(let rule): [rule]
        case .owner(let service): [service.rawValue]
        case .properties(let object, _): [object.interface]
        // The arguments are in systemd's documentation of inhibitor locks: what, who, why, mode.
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
            // An error means that the name has no owner.
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
                    guard own >= 0 else { throw BusFailure(code: errno) }
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
        // If the signal cannot be read, all values are requested.
        let unread = PropertyChange(changed: [:], invalidated: object.properties)
        return .changed(object, sender: sender, (try? change.get()) ?? unread)
    }
}
