package import Device
import Foundation
package import NightshiftAPI
package import PushProtocol
package import Runtime
package import Store

/// The state of UnifiedPush: registrations, messages, and the next calls to apps.
///
/// A pure value: events of the bus and the gateway go in. ``decide(at:)`` decides, and ``changes(since:)`` returns what a
/// transaction has to write, with the requests to send on the bus after the transaction. Times are seconds since 1970.
/// See `docs/decisions/0047`.
package struct UnifiedPushState: Sendable {
    /// The registrations by topic.
    package internal(set) var registrations: [String: UnifiedPushRegistration] = [:]
    /// The messages by id. Finished messages are kept for a while, so that a repeated delivery is recognised.
    package internal(set) var messages = Rows<String, UnifiedPushMessage>()
    /// The ids of all messages in the order of arrival.
    var order: [String] = []
    /// The payloads of waiting messages.
    var payloads: [String: Data] = [:]
    var lastNumber: Int64 = 0
    var lastCall: UInt64 = 0
    /// The state of the calls to the app of each registration, by topic.
    var lines: [String: Line] = [:]
    /// The endpoint that was last sent to the app of each registration, by topic.
    var announcing: [String: String] = [:]
    /// The calls from apps whose registrations wait for their tokens, by topic.
    var pending: [String: Pending] = [:]
    package internal(set) var isEnrolled: Bool
    /// The common prefix of all endpoints of the gateway, as the gateway last reported it.
    package internal(set) var endpoints: String?
    /// Whether the service is connected to a session bus. `hasName` says whether apps can reach the service on this
    /// bus.
    package internal(set) var isOnBus = false
    package internal(set) var hasName = false
    /// The number of lost connections to the bus. A request is valid for one connection only.
    package private(set) var connection = 0
    private var watched: Set<String> = []
    /// Whether the wall clock is trusted. See ``PushState/trustsClock``.
    package var trustsClock = true
    /// The time of the next decision in seconds since 1970, if no event occurs earlier.
    package internal(set) var nextDeadline: Double?
    package internal(set) var journal = Outbox<JournalEntry>()
    package internal(set) var requests = Outbox<DistributorRequest>()
    /// The topics whose removal has not been sent to the gateway yet.
    private var left: [String] = []

    /// The state of the calls to the app of one registration. Only one call is made at a time, so that messages keep
    /// their order.
    struct Line: Sendable {
        var call: (number: UInt64, message: String?)?
        /// The end of the current pause, during which no call is made.
        var until: Double?
        /// The length of the last pause in seconds.
        var pause: Double?
        /// The number of consecutive attempts to send the app its endpoint.
        var announcements = 0
    }

    struct Pending: Sendable {
        var calls: [UInt64]
        var until: Double
    }

    /// The maximum number of registrations. The gateway issues tokens for five times as many topics, including the
    /// topics of apps.
    package static let limit = 100
    /// The maximum size in bytes of a registration's token. The same limit applies to its description.
    package static let textLength = 100
    /// The number of seconds within which a registration must get its token. Most callers wait for 25 seconds.
    package static let timeout = 20.0

    package init(isEnrolled: Bool = false) { self.isEnrolled = isEnrolled }

    /// Restores the stored state. ``begin(unreadable:now:)`` must follow.
    package init(_ kept: StoredUnifiedPush<UnifiedPushRegistration, UnifiedPushMessage>, isEnrolled: Bool) {
        self.isEnrolled = isEnrolled
        for registration in kept.registrations {
            registrations[registration.topic] = registration
            lastNumber = max(lastNumber, registration.number)
        }
        messages = Rows(onDisk: Dictionary(kept.messages.map { ($0.0.id, $0.0) }) { $1 })
        for (message, payload) in kept.messages {
            payloads[message.id] = message.state == .waiting ? payload : nil
            lastNumber = max(lastNumber, message.number)
        }
        order = messages.values.sorted { ($0.number, $0.id) < ($1.number, $1.id) }.map(\.id)
    }

    /// Applies the start of the service. A registration is dropped if its app has not been notified of it.
    package mutating func begin(unreadable: [String] = [], now: Double) {
        for what in unreadable { note(.unreadable, nil, what, now) }
        for registration in inOrder where !registration.isConfirmed { remove(registration.topic) }
    }

    mutating func note(
        _ decision: Decision, _ app: AppID?, _ detail: String?, _ now: Double, inputs: [String: String]? = nil
    ) {
        journal.note(
            JournalEntry(
                time: Date(timeIntervalSince1970: now), decision: decision, app: app, detail: detail, inputs: inputs))
    }

    /// The registrations in the order in which they were made.
    package var inOrder: [UnifiedPushRegistration] { registrations.values.sorted { $0.number < $1.number } }

    func registration(token: String) -> UnifiedPushRegistration? {
        registrations.values.first { $0.token == token }
    }

    // MARK: - Requests of apps

    /// Registers an app, or answers with the endpoint of an existing registration.
    ///
    /// - Parameter topic: a new topic, which is used only if the registration is new.
    package mutating func register(
        _ wanted: DistributorRegistration, call: UInt64, topic: UnifiedPushTopic, now: Double
    ) {
        do throws(RegistrationRefusal) {
            try check(wanted)
            guard let known = registration(token: wanted.token) else {
                return try add(wanted, call: call, topic: topic.text, now: now)
            }
            guard known.service == wanted.service else {
                throw RegistrationRefusal(.internalError, "The token belongs to another app.")
            }
            registrations[known.topic]?.version = wanted.version
            registrations[known.topic]?.description = Self.short(wanted.description)
            // The app registers again, possibly because it does not know its endpoint.
            registrations[known.topic]?.isAnnounced = false
            announcing[known.topic] = nil
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
                "UnifiedPush: registration failed. \(error.sentence)", now)
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
            throw RegistrationRefusal(.internalError, "An app must register with its well-known name on the bus.")
        }
        guard (1...Self.textLength).contains(wanted.token.utf8.count) else {
            throw RegistrationRefusal(.internalError, "A token must have 1 to \(Self.textLength) bytes.")
        }
        guard isEnrolled else { throw RegistrationRefusal(.actionRequired, Self.notEnrolled) }
    }

    static let notEnrolled =
        "This device is not enrolled at a push gateway. 'nightshift push enrol URL' enrols it."

    private static func short(_ text: String) -> String {
        var short = text
        while short.utf8.count > textLength { short.removeLast() }
        return short
    }

    private mutating func add(
        _ wanted: DistributorRegistration, call: UInt64, topic: String, now: Double
    ) throws(RegistrationRefusal) {
        guard registrations.count < Self.limit else {
            throw RegistrationRefusal(.actionRequired, "There are \(Self.limit) registrations, which is the limit.")
        }
        lastNumber += 1
        var registration = UnifiedPushRegistration(wanted, topic: topic, number: lastNumber)
        registration.description = Self.short(wanted.description)
        registrations[topic] = registration
        pending[topic] = Pending(calls: [call], until: now + Self.timeout)
    }

    /// Ends a registration. An unknown token is not an error.
    package mutating func unregister(token: String, call: UInt64, now: Double) {
        requests.append(.answer(call: call, .unregistered))
        guard let registration = registration(token: token) else { return }
        end(registration, isConfirmation: true, now)
    }

    /// Ends all registrations of an app on behalf of the user.
    ///
    /// - Returns: whether the app had registrations.
    package mutating func unregister(_ app: AppID, now: Double) -> Bool {
        let own = inOrder.filter { $0.app == app }
        for registration in own { end(registration, isConfirmation: false, now) }
        return !own.isEmpty
    }

    private mutating func end(_ registration: UnifiedPushRegistration, isConfirmation: Bool, _ now: Double) {
        fail(registration.topic, .internalError, "It was unregistered.")
        remove(registration.topic)
        note(.pushRegistered, registration.app, "UnifiedPush: it is no longer registered.", now)
        if isOnBus { call(registration, .unregistered(isConfirmation: isConfirmation)) }
    }

    /// Deletes a registration, and requests the removal of its topic at the gateway.
    private mutating func remove(_ topic: String) {
        registrations[topic] = nil
        lines[topic] = nil
        announcing[topic] = nil
        pending[topic] = nil
        left.append(topic)
        for id in order where messages[id]?.topic == topic {
            messages[id] = nil
            payloads[id] = nil
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

    /// Ends a registration for which the app never received a confirmation.
    private mutating func giveUp(
        _ topic: String, _ failure: DistributorAnswer.Failure, _ sentence: String, _ now: Double
    ) {
        guard let registration = registrations[topic], !registration.isConfirmed else { return }
        fail(topic, failure, sentence)
        remove(topic)
        note(.pushRegistered, registration.app, "UnifiedPush: registration failed. \(sentence)", now)
    }

    // MARK: - Events of the gateway

    /// The topics whose tokens must be requested.
    package var wanted: [String] { inOrder.filter { $0.gatewayToken == nil }.map(\.topic) }

    /// Returns the topics that were removed since the last call, and clears the list.
    package mutating func takeLeft() -> [String] {
        defer { left = [] }
        return left
    }

    /// Handles the connection to the gateway, and the prefix of its endpoints.
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

    private static let noEndpoints =
        "The push gateway does not support UnifiedPush. A newer version of the gateway supports it."

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
        let sentence = "The gateway refused a token: \(refusal.text)"
        giveUp(topic, .internalError, sentence, now)
        set(topic) { $0.error = sentence }
    }

    private mutating func set(_ topic: String, _ change: (inout UnifiedPushRegistration) -> Void) {
        guard let before = registrations[topic] else { return }
        var after = before
        change(&after)
        guard after != before else { return }
        registrations[topic] = after
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

    /// Handles an enrolment at another gateway, or its end. All tokens are deleted, because they are valid at one
    /// gateway only.
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
        // The earlier gateway can no longer be reached, and the new gateway does not know these topics.
        left = []
    }

    // MARK: - Events of the bus

    package mutating func connectedToBus() {
        isOnBus = true
        watched = []
        for topic in registrations.keys { lines[topic] = Line() }
    }

    /// Handles the loss of the connection to the bus. Calls in progress count as not delivered.
    package mutating func lostBus() {
        isOnBus = false
        hasName = false
        for topic in lines.keys { lines[topic] = Line() }
        for topic in pending.keys.sorted() {
            // The callers are no longer waiting for the response.
            pending[topic]?.calls = []
        }
        requests.removeAll { _ in true }
        connection += 1
    }

    package mutating func named(isOurs: Bool) { hasName = isOurs }

    /// Handles the appearance of an app on the bus.
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

    /// Ends registrations that have waited too long for their token.
    mutating func expireRegistrations(_ now: Double) {
        for (topic, waits) in pending.sorted(by: { $0.key < $1.key }) where waits.until <= now {
            giveUp(topic, .network, "The push gateway could not be reached in time.", now)
        }
    }

    /// Requests that the bus reports the appearance of all registered apps, and of no others.
    mutating func watch() {
        let services = Set(registrations.values.map(\.service))
        guard isOnBus, services != watched else { return }
        watched = services
        requests.append(.watch(services))
    }
}

/// A check of bus names according to the D-Bus specification.
package enum BusName {
    /// Returns whether the name has at least two elements of letters, digits, hyphens and underscores. An element must
    /// not begin with a digit.
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
