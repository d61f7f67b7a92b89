import NightshiftAPI

/// A connection to the session bus, and the state of the notification server on that bus. Used by one thread.
final class DesktopConnection: SessionBusConnection {
    private let bus: MessageBus
    private var asked: [UInt64: Question] = [:]
    /// The unique name of the notification server's connection.
    private var owner: String?
    private var server: NotificationServer?
    private var isKnown = false

    private enum Question {
        case owner
        case capabilities(of: String)
        case notify(token: Int64)
        case nothing
    }

    /// Begins to connect. The subscription is sent before the request for the owner, so that no change is missed.
    init(address: String) throws(BusFailure) {
        bus = try MessageBus(address: address)
        for rule in Self.rules {
            let call = try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "AddMatch")
            try call.append(rule)
            asked[try bus.send(call)] = .nothing
        }
        let call = try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "GetNameOwner")
        try call.append(Self.name)
        asked[try bus.send(call)] = .owner
    }

    var descriptor: Int32 { bus.descriptor }
    var events: Int16 { bus.events }
    var deadline: Double? { bus.deadline }
    var farewell: [DesktopEvent] { server == nil ? [] : [.server(nil)] }

    static func refusal(of request: DesktopRequest) -> DesktopEvent? {
        guard case .show(_, let token) = request else { return nil }
        return .refused(token: token, isGone: true, detail: "there is no notification server")
    }

    /// Sends a request. Returns false if the request could not be sent or has no recipient.
    func perform(_ request: DesktopRequest) -> Bool {
        do throws(BusFailure) {
            switch request {
            case .show(let notification, let token): return try show(notification, token)
            case .close(let number, let server):
                guard let owner, self.server?.identity == server else { return false }
                let call = try bus.newCall(owner, Self.path, Self.name, "CloseNotification")
                try call.append(number)
                asked[try bus.send(call)] = .nothing
            case .badge(let entry, let count): try emitBadge(count, of: entry)
            case .startServer:
                guard owner == nil else { return true }
                let call = try bus.newCall(
                    MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "StartServiceByName")
                try call.append(Self.name)
                try call.append(UInt32(0))
                asked[try bus.send(call)] = .nothing
            }
            return true
        } catch {
            return false
        }
    }

    /// Returns the next events, or nil if there are no more. Throws when the connection has ended.
    func next() throws(BusFailure) -> [DesktopEvent]? {
        try bus.next { message in
            guard let cookie = message.answeredCookie else { return signal(message) }
            return asked.removeValue(forKey: cookie).map { answer(message, to: $0) }
        }
    }

    // MARK: - Receiving

    private func answer(_ message: BusMessage, to question: Question) -> [DesktopEvent] {
        switch question {
        case .nothing: return []
        case .owner:
            let events = isKnown ? [] : [DesktopEvent.connected]
            isKnown = true
            // An error means that the name has no owner.
            return events + ownerIs(message.isError ? nil : try? message.readText())
        case .capabilities(let name):
            // The answer is ignored if another server has replaced the one that sent it.
            guard name == owner else { return [] }
            let capabilities = message.isError ? [] : (try? message.readTexts()) ?? []
            let found = NotificationServer(
                identity: "\(bus.identity ?? "")/\(name)",
                capabilities: Set(capabilities.prefix(100).map { String($0.prefix(64)) }))
            server = found
            return [.server(found)]
        case .notify(let token):
            guard message.isError else {
                guard let number = try? message.readNumber() else {
                    return [.refused(token: token, isGone: false, detail: "the server's answer cannot be read")]
                }
                return [.shown(token: token, number: number)]
            }
            return [
                .refused(token: token, isGone: Self.absences.contains(message.errorName), detail: message.failure.text)
            ]
        }
    }

    private func signal(_ message: BusMessage) -> [DesktopEvent]? {
        guard let sender = message.sender else { return nil }
        if sender == MessageBus.daemon, message.isSignal(MessageBus.daemon, "NameOwnerChanged") {
            guard let name = try? message.readText(), (try? message.readText()) != nil,
                let owner = try? message.readText()
            else { return nil }
            switch name {
            case Self.name: return ownerIs(owner.isEmpty ? nil : owner)
            case Self.dock: return owner.isEmpty ? nil : [.dock]
            default: return nil
            }
        }
        // Any client may send a signal to this connection. Only signals of the server itself are accepted.
        guard sender == owner, let server = server?.identity else { return nil }
        if message.isSignal(Self.name, "ActionInvoked") {
            guard let number = try? message.readNumber(), let key = try? message.readText() else { return nil }
            return [.chosen(server: server, number: number, key: String(key.prefix(64)))]
        }
        if message.isSignal(Self.name, "NotificationClosed") {
            guard let number = try? message.readNumber(), let reason = try? message.readNumber() else { return nil }
            return [.closed(server: server, number: number, DesktopEvent.CloseReason(reason))]
        }
        return nil
    }

    private func ownerIs(_ name: String?) -> [DesktopEvent] {
        // The answer to the owner request may repeat what a signal has already reported.
        guard name != owner else { return [] }
        let hadServer = server != nil
        owner = name
        server = nil
        if let name, let call = try? bus.newCall(name, Self.path, Self.name, "GetCapabilities"),
            let cookie = try? bus.send(call)
        {
            asked[cookie] = .capabilities(of: name)
        }
        return hadServer ? [.server(nil)] : []
    }

    // MARK: - Sending

    private func show(_ notification: DesktopNotification, _ token: Int64) throws(BusFailure) -> Bool {
        guard let owner, server != nil else { return false }
        let call = try bus.newCall(owner, Self.path, Self.name, "Notify")
        try call.append(notification.appName)
        try call.append(notification.replaces)
        try call.append(notification.icon)
        try call.append(notification.title)
        try call.append(notification.body)
        try call.append(notification.actions.flatMap { [$0.key, $0.title] })
        try call.append(notification.hints)
        // -1 means that the server chooses the time; 0 means that the notification stays until it is closed.
        try call.append(Int32(notification.stays ? 0 : -1))
        asked[try bus.send(call)] = .notify(token: token)
        return true
    }

    private func emitBadge(_ count: Int, of entry: String) throws(BusFailure) {
        // The object path is built as libunity builds it. Readers use the URI instead of the path.
        let hash = entry.utf8.reduce(UInt32(5381)) { $0 &* 33 &+ UInt32($1) }
        let signal = try bus.newSignal("/com/canonical/unity/launcherentry/\(hash)", Self.launcher, "Update")
        try signal.append("application://\(entry).desktop")
        try signal.append([("count", .long(Int64(count))), ("count-visible", .truth(count > 0))])
        try bus.emit(signal)
    }

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let launcher = "com.canonical.Unity.LauncherEntry"
    /// The bus name of docks that show badges. libunity waits for this name too.
    private static let dock = "com.canonical.Unity"
    /// The errors that the bus returns if the recipient has left the bus.
    private static let absences: Set = [
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
        "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Disconnected",
    ]
    private static let rules = [
        MessageBus.ownerChanged(name), MessageBus.ownerChanged(dock),
        "type='signal',sender='\(name)',path='\(path)',interface='\(name)',member='ActionInvoked'",
        "type='signal',sender='\(name)',path='\(path)',interface='\(name)',member='NotificationClosed'",
    ]
}

extension DesktopEvent.CloseReason {
    /// - Parameter code: the reason for a closure, as a code of the specification.
    fileprivate init(_ code: UInt32) {
        switch code {
        case 1: self = .expired
        case 2: self = .dismissed
        default: self = .other
        }
    }
}

extension DesktopNotification {
    fileprivate var hints: [(String, OutgoingValue)] {
        var hints: [(String, OutgoingValue)] = [("desktop-entry", .text(entry)), ("urgency", .byte(urgency.rawValue))]
        if let category { hints.append(("category", .text(category))) }
        if let sound {
            hints.append(("sound-name", .text(sound)))
        } else {
            hints.append(("suppress-sound", .truth(true)))
        }
        return hints
    }
}
