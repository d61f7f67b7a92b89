package import Device
import Foundation
import NightshiftAPI
package import PushProtocol
import Runtime

/// The handling of UnifiedPush messages, from their arrival to their result.
extension UnifiedPushState {
    /// The maximum number of messages of one registration that wait for its app. ``bytes`` is the maximum of their
    /// total size. If there are more, the oldest messages are discarded.
    package static let count = 100
    package static let bytes = 400 << 10
    /// The maximum number of finished messages that are kept. The newest are kept at any age, because the wall clock
    /// may be wrong.
    package static let remembered = 1_000
    /// The number of refusals by an app after which a message is discarded.
    package static let refusals = 5
    /// The first pause in seconds after a failed attempt. Each further failure doubles it, up to ``longestPause``.
    package static let firstPause = 1.0
    package static let longestPause = 3_600.0
    /// The maximum number of attempts to send an app its endpoint. After that, the app must appear on the bus or
    /// register again.
    package static let announcements = 8

    // MARK: - Arrival

    /// Handles a message from the gateway. A repeated message is ignored.
    package mutating func received(_ message: Message, now: Double) {
        let id = message.id.description
        guard messages[id] == nil else { return }
        guard let registration = registrations[message.topic] else {
            return note(.pushDiscarded, nil, "\(id) is for a UnifiedPush registration that no longer exists.", now)
        }
        lastNumber += 1
        let known = UnifiedPushMessage(
            id: id, topic: message.topic, number: lastNumber, received: now, expires: message.expiry.map(Double.init),
            name: message.collapseID, size: message.payload.count)
        messages[id] = known
        order.append(id)
        payloads[id] = Data(message.payload)
        let way = message.isFromStorage ? "from the gateway's storage" : "directly"
        note(.pushReceived, registration.app, "\(id) arrived \(way), for UnifiedPush.", now)
        if trustsClock, hasExpired(known, now) { discard(id, "It expired before it arrived.", now) }
        makeRoom(for: known, now)
        prune()
    }

    private func hasExpired(_ message: UnifiedPushMessage, _ now: Double) -> Bool {
        message.expires.map { $0 <= now } ?? false
    }

    /// Returns whether a waiting message has expired according to a clock that is not trusted yet.
    package func isInDoubt(_ now: Double) -> Bool {
        !trustsClock && messages.values.contains { $0.state == .waiting && hasExpired($0, now) }
    }

    private mutating func makeRoom(for new: UnifiedPushMessage, _ now: Double) {
        var (count, bytes) = (0, 0)
        for id in order.reversed() {
            guard let message = messages[id], message.topic == new.topic, message.state == .waiting else { continue }
            let isUnderWay = lines[new.topic]?.call?.message == id
            if let name = new.name, message.name == name, id != new.id, !isUnderWay {
                discard(id, "A newer message of the same topic replaced it while it waited.", now)
                continue
            }
            count += 1
            bytes += message.size
            if count > Self.count || bytes > Self.bytes, !isUnderWay {
                discard(id, "Too many newer messages were waiting for its app.", now)
            }
        }
    }

    /// Deletes finished messages except for the newest.
    private mutating func prune() {
        let done = order.filter { messages[$0]?.state != .waiting }
        let gone = Set(done.prefix(max(0, done.count - Self.remembered)))
        guard !gone.isEmpty else { return }
        for id in gone {
            messages[id] = nil
        }
        order.removeAll(where: gone.contains)
    }

    private mutating func discard(_ id: String, _ why: String, _ now: Double) {
        guard let message = messages[id] else { return }
        conclude(id, .discarded, why)
        note(.pushDiscarded, registrations[message.topic]?.app, "\(id): \(why)", now)
    }

    private mutating func conclude(_ id: String, _ state: UnifiedPushMessage.State, _ sentence: String) {
        payloads[id] = nil
        messages[id]?.state = state
        messages[id]?.sentence = sentence
    }

    // MARK: - Delivery

    /// Handles the outcome of a call to an app.
    package mutating func called(_ number: UInt64, _ outcome: ConnectorOutcome, now: Double) {
        guard let topic = lines.first(where: { $0.value.call?.number == number })?.key, let call = lines[topic]?.call,
            let registration = registrations[topic]
        else { return }
        lines[topic]?.call = nil
        guard let id = call.message else { return announced(registration, outcome, now) }
        // The message was removed or has expired in the meantime.
        guard let message = messages[id], message.state == .waiting else { return }
        switch outcome {
        case .returned:
            lines[topic] = Line()
            conclude(id, .delivered, "The app has received it.")
            note(.pushHandled, registration.app, "\(id): the app has received it.", now)
        case .absent(let why): pause(topic, id, "The app cannot be reached: \(why).", now)
        case .refused(let why):
            messages[id]?.refusals += 1
            if message.refusals + 1 >= Self.refusals {
                lines[topic] = Line()
                return discard(id, "The app has refused it \(Self.refusals) times: \(why).", now)
            }
            pause(topic, id, "The app has refused it: \(why).", now)
        }
    }

    private mutating func announced(
        _ registration: UnifiedPushRegistration, _ outcome: ConnectorOutcome, _ now: Double
    ) {
        let topic = registration.topic
        if outcome == .returned {
            lines[topic] = Line()
            // If the endpoint has changed, or the app has registered again in the meantime, the endpoint is sent again.
            guard announcing[topic] == registration.endpoint else { return }
            registrations[topic]?.isAnnounced = true
            return
        }
        lines[topic]?.announcements += 1
        setPause(topic, now)
    }

    private mutating func pause(_ topic: String, _ id: String, _ sentence: String, _ now: Double) {
        // A message without an expiration date is delivered at once or discarded.
        guard messages[id]?.expires != nil else {
            lines[topic] = Line()
            return discard(id, "\(sentence) It has no expiration date, so it does not wait.", now)
        }
        setPause(topic, now)
        guard messages[id]?.sentence != sentence else { return }
        messages[id]?.sentence = sentence
        note(.pushHeld, registrations[topic]?.app, "\(id) waits. \(sentence)", now)
    }

    private mutating func setPause(_ topic: String, _ now: Double) {
        let pause = lines[topic]?.pause.map { min($0 * 2, Self.longestPause) } ?? Self.firstPause
        lines[topic]?.pause = pause
        lines[topic]?.until = now + pause
    }

    // MARK: - Deciding

    /// Decides which calls to apps to make now.
    package mutating func decide(at now: Double) {
        expireRegistrations(now)
        watch()
        var next = pending.values.map(\.until)
        for id in order {
            guard let message = messages[id], message.state == .waiting, let expires = message.expires else { continue }
            if expires <= now {
                guard trustsClock else { continue }
                let why = message.sentence.isEmpty ? "" : " \(message.sentence)"
                discard(id, "It expired while it waited.\(why)", now)
            } else {
                next.append(expires)
            }
        }
        for registration in inOrder where registration.isConfirmed {
            next += speak(to: registration, now).map { [$0] } ?? []
        }
        nextDeadline = next.min()
    }

    /// Calls one app with its endpoint or its next message, unless the app's pause has not ended.
    ///
    /// - Returns: the end of the pause; nil if the app is not in a pause.
    private mutating func speak(to registration: UnifiedPushRegistration, _ now: Double) -> Double? {
        let topic = registration.topic
        guard isOnBus else { return nil }
        var line = lines[topic] ?? Line()
        guard line.call == nil else { return nil }
        let announces =
            registration.endpoint != nil && !registration.isAnnounced && line.announcements < Self.announcements
        let message = order.first { id in
            // A message that has expired according to an untrusted clock waits until the clock is trusted, and does not
            // block later messages.
            messages[id].map { $0.topic == topic && $0.state == .waiting && !hasExpired($0, now) } ?? false
        }
        guard announces || message != nil else {
            lines[topic] = line
            return nil
        }
        // A pause must not become longer when the clock is set back.
        if let until = line.until, until > now, until <= now + Self.longestPause {
            lines[topic] = line
            return until
        }
        line.until = nil
        if announces, let endpoint = registration.endpoint {
            call(registration, .endpoint(endpoint))
            line.call = (lastCall, nil)
            announcing[topic] = endpoint
        } else if let message, let payload = payloads[message] {
            call(registration, .message(Array(payload), id: message))
            line.call = (lastCall, message)
        }
        lines[topic] = line
        return nil
    }

    // MARK: - The disk

    /// Returns what the disk has to contain.
    package func changes(since durable: Self) -> UnifiedPushChanges {
        var changes = UnifiedPushChanges(entries: journal.rows, requests: requests.rows, connection: connection)
        changes.removed = durable.registrations.keys.filter { registrations[$0] == nil }
        changes.registrations = registrations.values.filter { durable.registrations[$0.topic] != $0 }
            .sorted { $0.number < $1.number }
        let (changed, forgotten) = messages.changes(since: durable.messages)
        changes.messages = changed.sorted { $0.number < $1.number }
        for message in changed { changes.payloads[message.id] = payloads[message.id] }
        changes.forgotten = forgotten
        return changes
    }

    package mutating func wrote(_ copy: Self) {
        journal.wrote(copy.journal)
        requests.wrote(copy.requests)
        messages.wrote(copy.messages)
    }

    mutating func becomeDurable() {
        messages.removeValues()
        (payloads, order) = ([:], [])
    }
}
