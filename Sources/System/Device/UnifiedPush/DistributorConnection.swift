import CNightshift
import NightshiftAPI

/// A connection to the session bus on which the service is a UnifiedPush distributor. Used by one thread.
final class DistributorConnection: SessionBusConnection {
    private let bus: MessageBus
    private var asked: [UInt64: Question] = [:]
    private var isKnown = false
    /// The calls from apps that the service has not answered yet.
    private var held: [UInt64: (call: HeldCall, version: DistributorVersion)] = [:]
    private var lastHeld: UInt64
    private var watched: Set<String> = []
    /// The calls to connectors that have not been answered yet, with the times at which their answers are overdue.
    private var waiting: [UInt64: (call: ConnectorCall, until: Double)] = [:]

    private enum Question {
        case name
        case nothing
        /// A call that makes the bus start the app, if the app is not running.
        case start(number: UInt64)
        case call(number: UInt64)
    }

    /// The maximum number of calls from apps that may wait for an answer at the same time.
    private static let mostHeld = 64
    /// The number of seconds for an app to start. dbus-daemon allows two minutes.
    private static let startTimeout = 130.0
    /// The number of seconds for an app to answer.
    private static let answerTimeout = 30.0
    /// The number of seconds after which a call counts as accepted, if the app is present and has not refused it.
    /// Connectors of version 1 need not answer.
    private static let silence = 5.0

    /// Begins to connect, and requests the distributor's name. If the name has an owner, the bus grants it when that
    /// owner leaves.
    init(address: String) throws(BusFailure) {
        bus = try MessageBus(address: address)
        // The first number is random, so that the numbers of calls on another connection have no meaning here.
        lastHeld = UInt64(UInt32.random(in: 0...UInt32.max)) << 32
        let call = try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "RequestName")
        try call.append(Self.name)
        try call.append(UInt32(0))
        asked[try bus.send(call)] = .name
    }

    var descriptor: Int32 { bus.descriptor }
    var events: Int16 { bus.events }
    var deadline: Double? { [bus.deadline, waiting.values.map(\.until).min()].compactMap(\.self).min() }
    var farewell: [DistributorEvent] { isKnown ? [.disconnected] : [] }

    static func refusal(of request: DistributorRequest) -> DistributorEvent? {
        guard case .call(let number, _) = request else { return nil }
        return .called(number: number, .absent("there is no session bus"))
    }

    private var now: Double { Double(nightshift_awake_nanoseconds()) / 1e9 }

    // MARK: - Sending

    func perform(_ request: DistributorRequest) -> Bool {
        do throws(BusFailure) {
            switch request {
            case .answer(let number, let answer):
                guard let (call, version) = held.removeValue(forKey: number) else { return true }
                try self.answer(call, version, answer)
            case .call(let number, let call):
                waiting[number] = (call, now + Self.startTimeout)
                try start(call.service, number)
            case .watch(let services): try watch(services)
            }
            return true
        } catch {
            if case .call(let number, _) = request { waiting[number] = nil }
            return false
        }
    }

    private func answer(
        _ call: HeldCall, _ version: DistributorVersion, _ answer: DistributorAnswer
    ) throws(BusFailure) {
        let reply = try bus.newAnswer(to: call)
        switch (answer, version) {
        case (.registered, .one):
            try reply.append("REGISTRATION_SUCCEEDED")
            try reply.append("")
        case (.registered, .two): try reply.append([("success", .text("REGISTRATION_SUCCEEDED"))])
        case (.failed(_, let sentence), .one):
            try reply.append("REGISTRATION_FAILED")
            try reply.append(sentence)
        case (.failed(let failure, _), .two):
            try reply.append([("success", .text("REGISTRATION_FAILED")), ("reason", .text(failure.rawValue))])
        case (.unregistered, .one): break
        case (.unregistered, .two): try reply.append([(String, OutgoingValue)]())
        }
        try bus.answer(call, reply)
    }

    private func start(_ service: String, _ number: UInt64) throws(BusFailure) {
        let call = try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, "StartServiceByName")
        try call.append(service)
        try call.append(UInt32(0))
        asked[try bus.send(call)] = .start(number: number)
    }

    private func send(_ call: ConnectorCall, _ number: UInt64) throws(BusFailure) {
        let interface = call.version == .one ? "org.unifiedpush.Connector1" : "org.unifiedpush.Connector2"
        let member =
            switch call.content {
            case .message: "Message"
            case .endpoint: "NewEndpoint"
            case .unregistered: "Unregistered"
            }
        let message = try bus.newCall(call.service, "/org/unifiedpush/Connector", interface, member)
        switch (call.content, call.version) {
        case (.message(let bytes, let id), .one):
            try message.append(call.token)
            try message.append(bytes: bytes)
            try message.append(id)
        case (.message(let bytes, let id), .two):
            try message.append([("token", .text(call.token)), ("message", .bytes(bytes)), ("id", .text(id))])
        case (.endpoint(let endpoint), .one):
            try message.append(call.token)
            try message.append(endpoint)
        case (.endpoint(let endpoint), .two):
            try message.append([("token", .text(call.token)), ("endpoint", .text(endpoint))])
        // For a confirmation, version 1 sends an empty token. Version 2 always sends the token.
        case (.unregistered(let isConfirmation), .one): try message.append(isConfirmation ? "" : call.token)
        case (.unregistered, .two): try message.append([("token", .text(call.token))])
        }
        asked[try bus.send(message)] = .call(number: number)
    }

    private func watch(_ services: Set<String>) throws(BusFailure) {
        for (changed, member) in [
            (services.subtracting(watched), "AddMatch"), (watched.subtracting(services), "RemoveMatch"),
        ] {
            for service in changed {
                let call = try bus.newCall(MessageBus.daemon, MessageBus.daemonPath, MessageBus.daemon, member)
                try call.append(MessageBus.ownerChanged(service))
                asked[try bus.send(call)] = .nothing
            }
        }
        watched = services
    }

    // MARK: - Receiving

    func next() throws(BusFailure) -> [DistributorEvent]? {
        let overdue = waiting.filter { $0.value.until <= now }
        if !overdue.isEmpty { return overdue.map { expired($0.key, $0.value.call) } }
        return try bus.next { message in
            if message.isCall { return called(message) }
            guard let cookie = message.answeredCookie else { return signal(message) }
            return asked.removeValue(forKey: cookie).flatMap { answered(message, to: $0) }
        }
    }

    private func expired(_ number: UInt64, _ call: ConnectorCall) -> DistributorEvent {
        waiting[number] = nil
        let question = asked.first { entry in
            switch entry.value {
            case .start(number), .call(number): true
            default: false
            }
        }
        if let question { asked[question.key] = nil }
        if call.version == .one, case .call? = question?.value { return .called(number: number, .returned) }
        return .called(number: number, .absent("there was no answer"))
    }

    private func answered(_ message: BusMessage, to question: Question) -> [DistributorEvent]? {
        switch question {
        case .nothing: return nil
        case .name:
            isKnown = true
            // The number 1 is DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER.
            let isOurs = !message.isError && (try? message.readNumber()) == 1
            return [.connected, .named(isOurs: isOurs)]
        case .start(let number):
            guard let call = waiting[number]?.call else { return nil }
            // An app that the bus cannot start may already be running.
            if message.isError, message.errorName != Self.unknownService {
                return [end(number, .absent(message.failure.text))]
            }
            waiting[number]?.until = now + (call.version == .one ? Self.silence : Self.answerTimeout)
            do throws(BusFailure) {
                try send(call, number)
                return nil
            } catch {
                return [end(number, .absent(error.text))]
            }
        case .call(let number):
            guard waiting[number] != nil else { return nil }
            guard message.isError else { return [end(number, .returned)] }
            let name = message.errorName
            let isAbsent = Self.absences.contains { name == $0 || name.hasPrefix($0 + ".") }
            return [end(number, isAbsent ? .absent(message.failure.text) : .refused(message.failure.text))]
        }
    }

    private func end(_ number: UInt64, _ outcome: ConnectorOutcome) -> DistributorEvent {
        waiting[number] = nil
        return .called(number: number, outcome)
    }

    private func signal(_ message: BusMessage) -> [DistributorEvent]? {
        guard message.sender == MessageBus.daemon else { return nil }
        if message.isSignal(MessageBus.daemon, "NameAcquired") || message.isSignal(MessageBus.daemon, "NameLost") {
            guard isKnown, (try? message.readText()) == Self.name else { return nil }
            return [.named(isOurs: message.isSignal(MessageBus.daemon, "NameAcquired"))]
        }
        guard message.isSignal(MessageBus.daemon, "NameOwnerChanged"), let service = try? message.readText(),
            watched.contains(service), (try? message.readText()) != nil, let owner = try? message.readText(),
            !owner.isEmpty
        else { return nil }
        return [.appeared(service: service)]
    }

    private func called(_ message: BusMessage) -> [DistributorEvent]? {
        let call = HeldCall(message)
        guard message.path == Self.path else {
            bus.refuse(call, "org.freedesktop.DBus.Error.UnknownObject", "Unknown object path. Use \(Self.path).")
            return nil
        }
        if message.isCall("org.freedesktop.DBus.Introspectable", "Introspect") {
            if let reply = try? bus.newAnswer(to: call), (try? reply.append(Self.description)) != nil {
                try? bus.answer(call, reply)
            }
            return nil
        }
        guard let member = Self.members.first(where: { message.isCall($0.interface, $0.member) }) else {
            bus.refuse(call, "org.freedesktop.DBus.Error.UnknownMethod", "Unknown method of UnifiedPush.")
            return nil
        }
        do throws(BusFailure) {
            let request = try request(message, member.version, isRegister: member.member == "Register")
            guard held.count < Self.mostHeld else {
                bus.refuse(
                    call, "org.freedesktop.DBus.Error.LimitsExceeded",
                    "Too many calls are waiting for an answer. Try again later.")
                return nil
            }
            lastHeld += 1
            held[lastHeld] = (call, member.version)
            switch request {
            case .register(let registration): return [.register(call: lastHeld, registration)]
            case .unregister(let token): return [.unregister(call: lastHeld, token: token)]
            }
        } catch {
            bus.refuse(
                call, "org.freedesktop.DBus.Error.InvalidArgs",
                "The arguments are not valid: \(error.text).")
            return nil
        }
    }

    private enum Wish {
        case register(DistributorRegistration)
        case unregister(String)
    }

    private func request(
        _ message: BusMessage, _ version: DistributorVersion, isRegister: Bool
    ) throws(BusFailure) -> Wish {
        switch version {
        case .one:
            guard isRegister else { return .unregister(try message.readText()) }
            return .register(
                DistributorRegistration(
                    service: try message.readText(), token: try message.readText(),
                    description: try message.readText(), version: version))
        case .two:
            let values = try message.readProperties(["service", "token", "description"])
            func text(_ name: String) throws(BusFailure) -> String {
                guard case .text(let text)? = values[name] else { throw BusFailure("there is no '\(name)'") }
                return text
            }
            guard isRegister else { return .unregister(try text("token")) }
            return .register(
                DistributorRegistration(
                    service: try text("service"), token: try text("token"),
                    description: values["description"] == nil ? "" : try text("description"), version: version))
        }
    }

    // MARK: - Names

    static let name = "org.unifiedpush.Distributor.nightshift"
    private static let path = "/org/unifiedpush/Distributor"
    private static let unknownService = "org.freedesktop.DBus.Error.ServiceUnknown"
    /// The errors that mean that an app has left the bus, cannot be started, or has not registered its object yet.
    private static let absences = [
        unknownService, "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.NameHasNoOwner",
        "org.freedesktop.DBus.Error.Disconnected", "org.freedesktop.DBus.Error.Timeout",
        "org.freedesktop.DBus.Error.TimedOut", "org.freedesktop.DBus.Error.Spawn",
        "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownInterface",
        "org.freedesktop.DBus.Error.UnknownMethod",
    ]
    private static let members: [(interface: String, member: String, version: DistributorVersion)] = [
        ("org.unifiedpush.Distributor1", "Register", .one), ("org.unifiedpush.Distributor1", "Unregister", .one),
        ("org.unifiedpush.Distributor2", "Register", .two), ("org.unifiedpush.Distributor2", "Unregister", .two),
    ]
    /// The introspection data, from which libraries learn the supported versions.
    private static let description = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN" \
        "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
          <interface name="org.unifiedpush.Distributor1">
            <method name="Register">
              <arg name="serviceName" type="s" direction="in"/>
              <arg name="token" type="s" direction="in"/>
              <arg name="description" type="s" direction="in"/>
              <arg name="registrationResult" type="s" direction="out"/>
              <arg name="registrationResultReason" type="s" direction="out"/>
            </method>
            <method name="Unregister">
              <arg name="token" type="s" direction="in"/>
            </method>
          </interface>
          <interface name="org.unifiedpush.Distributor2">
            <method name="Register">
              <arg name="args" type="a{sv}" direction="in"/>
              <arg name="result" type="a{sv}" direction="out"/>
            </method>
            <method name="Unregister">
              <arg name="args" type="a{sv}" direction="in"/>
              <arg name="result" type="a{sv}" direction="out"/>
            </method>
          </interface>
        </node>

        """
}
