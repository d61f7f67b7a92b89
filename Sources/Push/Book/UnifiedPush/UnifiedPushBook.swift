package import Device
import Foundation
package import NightshiftAPI
package import PushProtocol
package import Store

/// Everything that is known of UnifiedPush: who is registered, what came, and what an app is told when.
///
/// Pure: what happens on the bus and at the gateway goes in. ``look(_:)`` decides, and ``takeChanges()`` gives what one
/// transaction writes, with what the bus is asked once it is written. Times are seconds since 1970.
/// See `docs/decisions/0047`.
package struct UnifiedPushBook: Sendable {
    /// By their topics.
    package internal(set) var registrations: [String: UnifiedPushRegistration] = [:]
    /// By their ids. Those that are done stay for a while, so that a second delivery is known.
    package internal(set) var messages: [String: UnifiedPushMessage] = [:]
    /// Ids in the order in which they came.
    var order: [String] = []
    /// Of messages that wait.
    var payloads: [String: Data] = [:]
    var lastNumber: Int64 = 0
    var lastCall: UInt64 = 0
    /// What is under way for each registration.
    var lines: [String: Line] = [:]
    /// The endpoint that each registration's app was told last.
    var announcing: [String: String] = [:]
    /// Calls of apps whose registration waits for its token.
    var pending: [String: Pending] = [:]
    package internal(set) var isEnrolled: Bool
    /// What the gateway's endpoints begin with, as it said last.
    package internal(set) var endpoints: String?
    /// Whether there is a session's bus, and whether apps reach this service on it.
    package internal(set) var isOnBus = false
    package internal(set) var hasName = false
    /// How often the connection to the bus was lost: requests are one connection's.
    package private(set) var connection = 0
    private var watched: Set<String> = []
    /// As ``PushBook/trustsClock``.
    package var trustsClock = true
    /// Seconds since 1970 at which to decide again, if nothing happens before.
    package internal(set) var nextLook: Double?
    var marks = UnifiedPushChanges()
    var changedRegistrations: Set<String> = []
    var changedMessages: Set<String> = []
    var requests: [DistributorRequest] = []
    /// Topics that the gateway has to be told are gone.
    private var left: [String] = []

    /// What is under way for one registration: one call at a time, so that messages keep their order.
    struct Line: Sendable {
        var call: (number: UInt64, message: String?)?
        /// Nothing is tried before.
        var until: Double?
        /// The last pause.
        var pause: Double?
        /// Attempts in a row to tell the app its endpoint.
        var announcements = 0
    }

    struct Pending: Sendable {
        var calls: [UInt64]
        var until: Double
    }

    /// Registrations of this device: the gateway gives tokens for five times as many topics, apps' included.
    package static let limit = 100
    /// Bytes of a registration's token, and of its description.
    package static let textLength = 100
    /// Seconds for a registration to have its token: most callers wait for 25.
    package static let patience = 20.0

    package init(isEnrolled: Bool = false) { self.isEnrolled = isEnrolled }

    /// The book as it was kept. A registration of which its app heard nothing has not come about.
    package init(
        _ kept: StoredUnifiedPush<UnifiedPushRegistration, UnifiedPushMessage>, isEnrolled: Bool, now: Double
    ) {
        self.isEnrolled = isEnrolled
        for registration in kept.registrations {
            registrations[registration.topic] = registration
            lastNumber = max(lastNumber, registration.number)
        }
        for (message, payload) in kept.messages {
            messages[message.id] = message
            payloads[message.id] = message.state == .waiting ? payload : nil
            lastNumber = max(lastNumber, message.number)
        }
        order = messages.values.sorted { ($0.number, $0.id) < ($1.number, $1.id) }.map(\.id)
        for what in kept.unreadable { note(.unreadable, nil, what, now) }
        for registration in kept.registrations where !registration.isConfirmed { remove(registration.topic) }
    }

    mutating func note(
        _ decision: Decision, _ app: AppID?, _ detail: String?, _ now: Double, inputs: [String: String]? = nil
    ) {
        marks.entries.append(
            JournalEntry(
                time: Date(timeIntervalSince1970: now), decision: decision, app: app, detail: detail, inputs: inputs))
    }

    /// Registrations in the order in which they came.
    package var inOrder: [UnifiedPushRegistration] { registrations.values.sorted { $0.number < $1.number } }

    func registration(token: String) -> UnifiedPushRegistration? {
        registrations.values.first { $0.token == token }
    }

    // MARK: - What apps ask

    /// - Parameter topic: a fresh one, of which use is made where the registration is new.
    package mutating func register(
        _ wanted: DistributorRegistration, call: UInt64, topic: UnifiedPushTopic, now: Double
    ) {
        do throws(RegistrationRefusal) {
            try check(wanted)
            guard let known = registration(token: wanted.token) else {
                return try add(wanted, call: call, topic: topic.text, now: now)
            }
            guard known.service == wanted.service else {
                throw RegistrationRefusal(.internalError, "The token is another app's.")
            }
            registrations[known.topic]?.version = wanted.version
            registrations[known.topic]?.description = Self.short(wanted.description)
            // The app asks because it may not know its endpoint.
            registrations[known.topic]?.isAnnounced = false
            announcing[known.topic] = nil
            changedRegistrations.insert(known.topic)
            lines[known.topic]?.announcements = 0
            if known.isConfirmed {
                requests.append(.answer(call: call, .registered))
            } else {
                pending[known.topic]?.calls.append(call)
            }
        } catch {
            requests.append(.answer(call: call, .failed(error.failure, error.sentence)))
            note(
                .pushRegistered, AppID(rawValue: wanted.service),
                "UnifiedPush: it is not registered. \(error.sentence)", now)
        }
    }

    private struct RegistrationRefusal: Error {
        var failure: DistributorAnswer.Failure
        var sentence: String

        init(_ failure: DistributorAnswer.Failure, _ sentence: String) {
            self.failure = failure
            self.sentence = sentence
        }
    }

    private func check(_ wanted: DistributorRegistration) throws(RegistrationRefusal) {
        guard BusName.isWellKnown(wanted.service) else {
            throw RegistrationRefusal(.internalError, "An app registers with its well-known name on the bus.")
        }
        guard (1...Self.textLength).contains(wanted.token.utf8.count) else {
            throw RegistrationRefusal(.internalError, "A token has 1 to \(Self.textLength) bytes.")
        }
        guard isEnrolled else { throw RegistrationRefusal(.actionRequired, Self.notEnrolled) }
    }

    static let notEnrolled =
        "This device is enrolled at no push gateway. 'nightshift push enrol URL' enrols it."

    private static func short(_ text: String) -> String {
        var short = text
        while short.utf8.count > textLength { short.removeLast() }
        return short
    }

    private mutating func add(
        _ wanted: DistributorRegistration, call: UInt64, topic: String, now: Double
    ) throws(RegistrationRefusal) {
        guard registrations.count < Self.limit else {
            throw RegistrationRefusal(.actionRequired, "There are \(Self.limit) registrations already.")
        }
        lastNumber += 1
        var registration = UnifiedPushRegistration(wanted, topic: topic, number: lastNumber)
        registration.description = Self.short(wanted.description)
        registrations[topic] = registration
        changedRegistrations.insert(topic)
        pending[topic] = Pending(calls: [call], until: now + Self.patience)
    }

    /// Of a registration that is not there nothing has to be done.
    package mutating func unregister(token: String, call: UInt64, now: Double) {
        requests.append(.answer(call: call, .unregistered))
        guard let registration = registration(token: token) else { return }
        end(registration, isConfirmation: true, now)
    }

    /// Its user takes all registrations of an app back.
    ///
    /// - Returns: whether there were any.
    package mutating func unregister(_ app: AppID, now: Double) -> Bool {
        let own = inOrder.filter { $0.app == app }
        for registration in own { end(registration, isConfirmation: false, now) }
        return !own.isEmpty
    }

    private mutating func end(_ registration: UnifiedPushRegistration, isConfirmation: Bool, _ now: Double) {
        fail(registration.topic, .internalError, "It was unregistered.")
        remove(registration.topic)
        note(.pushRegistered, registration.app, "UnifiedPush: it is not registered any more.", now)
        if isOnBus { call(registration, .unregistered(isConfirmation: isConfirmation)) }
    }

    /// Forgets a registration, and has the gateway forget it.
    private mutating func remove(_ topic: String) {
        registrations[topic] = nil
        lines[topic] = nil
        announcing[topic] = nil
        pending[topic] = nil
        changedRegistrations.remove(topic)
        marks.removed.insert(topic)
        left.append(topic)
        for id in order where messages[id]?.topic == topic {
            messages[id] = nil
            payloads[id] = nil
            changedMessages.remove(id)
            marks.received.remove(id)
        }
        order.removeAll { messages[$0] == nil }
    }

    private mutating func answerPending(_ topic: String, _ answer: DistributorAnswer) {
        for call in pending.removeValue(forKey: topic)?.calls ?? [] {
            requests.append(.answer(call: call, answer))
        }
    }

    private mutating func fail(_ topic: String, _ failure: DistributorAnswer.Failure, _ sentence: String) {
        answerPending(topic, .failed(failure, sentence))
    }

    /// A registration that has not come about.
    private mutating func giveUp(
        _ topic: String, _ failure: DistributorAnswer.Failure, _ sentence: String, _ now: Double
    ) {
        guard let registration = registrations[topic], !registration.isConfirmed else { return }
        fail(topic, failure, sentence)
        remove(topic)
        note(.pushRegistered, registration.app, "UnifiedPush: it is not registered. \(sentence)", now)
    }

    // MARK: - What the gateway says

    /// The topics whose tokens are to be asked for.
    package var wanted: [String] { inOrder.filter { $0.gatewayToken == nil }.map(\.topic) }

    /// Topics that are gone since the last call.
    package mutating func takeLeft() -> [String] {
        defer { left = [] }
        return left
    }

    /// The gateway is connected.
    package mutating func connected(endpoints: String?, now: Double) {
        self.endpoints = endpoints
        for topic in registrations.keys.sorted() {
            guard endpoints != nil else {
                giveUp(topic, .internalError, Self.noEndpoints, now)
                set(topic) { $0.error = Self.noEndpoints }
                continue
            }
            set(topic) { if $0.error == Self.noEndpoints { $0.error = nil } }
            renewEndpoint(topic)
        }
    }

    private static let noEndpoints = "The push gateway has no endpoints for UnifiedPush; a newer one has."

    package mutating func registered(_ topic: String, token: String, now: Double) {
        guard let registration = registrations[topic] else { return }
        set(topic) { registration in
            registration.gatewayToken = token
            registration.error = nil
            registration.isConfirmed = true
        }
        renewEndpoint(topic)
        answerPending(topic, .registered)
        guard !registration.isConfirmed else { return }
        note(.pushRegistered, registration.app, "UnifiedPush: it is registered.", now)
    }

    package mutating func refused(_ topic: String, _ refusal: Refusal, now: Double) {
        let sentence = "The gateway gives no token: \(refusal.text)"
        giveUp(topic, .internalError, sentence, now)
        set(topic) { $0.error = sentence }
    }

    private mutating func set(_ topic: String, _ change: (inout UnifiedPushRegistration) -> Void) {
        guard let before = registrations[topic] else { return }
        var after = before
        change(&after)
        guard after != before else { return }
        registrations[topic] = after
        changedRegistrations.insert(topic)
    }

    private mutating func renewEndpoint(_ topic: String) {
        guard let endpoints, let token = registrations[topic]?.gatewayToken else { return }
        let endpoint = "\(endpoints)/up/\(token)"
        guard registrations[topic]?.endpoint != endpoint else { return }
        lines[topic]?.announcements = 0
        set(topic) { registration in
            registration.endpoint = endpoint
            registration.isAnnounced = false
        }
    }

    /// The device belongs to another gateway, or to none: tokens are one gateway's.
    package mutating func enrolled(_ isEnrolled: Bool, now: Double) {
        self.isEnrolled = isEnrolled
        endpoints = nil
        for topic in registrations.keys.sorted() {
            giveUp(topic, .actionRequired, Self.notEnrolled, now)
            set(topic) { registration in
                registration.gatewayToken = nil
                registration.endpoint = nil
                registration.isAnnounced = false
                registration.error = nil
            }
        }
        // The gateway before does not hear of what is gone, and this one does not know it.
        left = []
    }

    // MARK: - What the bus says

    package mutating func connectedToBus() {
        isOnBus = true
        watched = []
        for topic in registrations.keys { lines[topic] = Line() }
    }

    /// What was under way is not known to have come.
    package mutating func lostBus() {
        isOnBus = false
        hasName = false
        for topic in lines.keys { lines[topic] = Line() }
        for topic in pending.keys.sorted() {
            // Nobody waits for the answer any more.
            pending[topic]?.calls = []
        }
        requests = []
        connection += 1
    }

    package mutating func named(isOurs: Bool) { hasName = isOurs }

    /// The app has come to the bus.
    package mutating func appeared(_ service: String) {
        for registration in registrations.values where registration.service == service {
            lines[registration.topic]?.until = nil
            lines[registration.topic]?.announcements = 0
        }
    }

    mutating func call(_ registration: UnifiedPushRegistration, _ content: ConnectorCall.Content) {
        lastCall += 1
        let call = ConnectorCall(
            service: registration.service, version: registration.version, token: registration.token, content: content)
        requests.append(.call(number: lastCall, call))
    }

    /// Times that have come: registrations that wait for too long.
    mutating func expireRegistrations(_ now: Double) {
        for (topic, waits) in pending.sorted(by: { $0.key < $1.key }) where waits.until <= now {
            giveUp(topic, .network, "The push gateway could not be reached in time.", now)
        }
    }

    /// Has the bus watch the apps that are registered, and no others.
    mutating func watch() {
        let services = Set(registrations.values.map(\.service))
        guard isOnBus, services != watched else { return }
        watched = services
        requests.append(.watch(services))
    }
}

/// Names of the D-Bus specification.
package enum BusName {
    /// Two elements or more of letters, digits, hyphens and underscores, none of which begins with a digit.
    package static func isWellKnown(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count > 1, name.utf8.count <= 255 else { return false }
        return parts.allSatisfy { part in
            guard let first = part.first, !isDigit(first) else { return false }
            return part.allSatisfy { isDigit($0) || isLetter($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
