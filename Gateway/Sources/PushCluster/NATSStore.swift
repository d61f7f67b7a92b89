import Foundation
package import PushProtocol
import PushRouting
package import PushStore
import Synchronization

/// A store that gateways on several machines share. It uses JetStream streams, which are replicated on several NATS
/// servers.
///
/// No gateway holds state that another gateway needs. Thread-safe.
package final class NATSStore: Sendable {
    /// A device that is connected to this gateway.
    struct Attachment: Sendable {
        var connection: UInt64
        let subscription: NATSSubscription
        /// The sequence of the record of this connection. If a device has connections to several gateways, the one with
        /// the highest sequence is current.
        var epoch: UInt64?
        /// The highest sequence that other gateways reported before `epoch` was known.
        var heard: UInt64 = 0
    }

    let connection: NATSConnection
    let jetStream: JetStream
    let subjects: Subjects
    let settings: NATSSettings
    let attachments = Mutex<[DeviceID: Attachment]>([:])
    private let listener = Mutex<(any StoreListener)?>(nil)
    private let heard = Mutex<[NATSSubscription]>([])
    /// The sequence up to which all messages of a stream were received or read, by stream name.
    private let known = Mutex<[String: UInt64]>([:])
    let followers = Mutex<(count: Int, subscription: NATSSubscription?)>((0, nil))

    /// The pause between the election of a stream's leader and the read of messages that may have been missed, in
    /// seconds. By then, the new leader has applied all messages that the previous leader acknowledged.
    private static let settling = 1.0

    /// Connects to the servers, and creates the missing streams.
    package init(_ settings: NATSSettings) async throws(StoreError) {
        guard (1...5).contains(settings.replicas), (1...1_024).contains(settings.streams) else {
            throw StoreError(
                .refused, "NATS stores each stream on 1 to 5 servers, and a store must have 1 to 1024 streams.")
        }
        self.settings = settings
        subjects = Subjects(streams: settings.streams)
        connection = try NATSConnection(settings)
        jetStream = JetStream(connection: connection)
        for plan in StreamPlan.all(settings) where plan.name == Subjects.registry {
            try await jetStream.prepare(plan)
        }
        try await agree()
        for plan in StreamPlan.all(settings) { try await jetStream.prepare(plan) }
        // Callers read the store after this point, so only changes after this point can be missed.
        for stream in [Subjects.registry, Subjects.devices] {
            let last = try await jetStream.information(of: stream).state?.lastSeq ?? 0
            known.withLock { $0[stream] = last }
        }
    }

    /// Checks that all gateways distribute devices over streams in the same way.
    private func agree() async throws(StoreError) {
        let form = KeptForm(version: 1, streams: settings.streams)
        let subject = Subjects.registry("store", "form")
        if let data = try? JSONEncoder().encode(form) { _ = try await jetStream.write(subject, Array(data), last: 0) }
        guard let kept = try await jetStream.last(subject, in: Subjects.registry) else {
            throw StoreError(.unavailable, "NATS did not return the parameters of the store.")
        }
        guard let found = try? JSONDecoder().decode(KeptForm.self, from: Data(kept.data)), found.version == 1 else {
            throw StoreError(
                .newerVersion, "The store was made by a newer version and was not changed. Install that version again.")
        }
        guard found.streams == form.streams else {
            throw StoreError(
                .refused,
                "The store has \(found.streams) streams for pushes, not \(form.streams). Set --store-streams to the "
                    + "store's number.")
        }
    }

    var ear: (any StoreListener)? { listener.withLock { $0 } }

    // MARK: - Changes by other gateways

    package func listen(_ listener: any StoreListener) {
        self.listener.withLock { $0 = listener }
        connection.whenReturned { [weak self] in self?.ear?.mayHaveMissed() }
        let subscriptions = [
            try? connection.subscribe("nightshift.changed.registry.>") { [weak self] message in
                self?.ear?.providersChanged()
                self?.hasHeard(message, of: Subjects.registry)
            },
            try? connection.subscribe("nightshift.changed.device.*") { [weak self] message in
                self?.deviceChanged(message.subject, message.bytes)
                self?.hasHeard(message, of: Subjects.devices)
            },
            try? connection.subscribe("$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.*") { [weak self] in self?.elected($0)
            },
        ]
        heard.withLock { $0 = subscriptions.compactMap(\.self) }
    }

    private func deviceChanged(_ subject: String, _ record: [UInt8]) {
        guard let name = subject.split(separator: ".").last, let id = Subjects.identifier(name),
            let device = try? JSONDecoder().decode(KeptDevice.self, from: Data(record))
        else { return }
        ear?.changed(id, tokens: device.tokens.map(\.token), isRevoked: device.revokedAt != nil)
    }

    /// Records a message as received. If earlier messages are missing, the recorded sequence does not advance until
    /// ``catchUp()`` has read the missing messages.
    private func hasHeard(_ message: NATSMessage, of stream: String) {
        guard let sequence = message.header("Nats-Sequence").flatMap({ UInt64($0) }) else { return }
        known.withLock { known in
            if let last = known[stream], sequence == last + 1 { known[stream] = sequence }
        }
    }

    package func catchUp() async throws(StoreError) {
        while let kept = try await unknown(in: Subjects.registry) {
            ear?.providersChanged()
            hasRead(kept, of: Subjects.registry)
        }
        while let kept = try await unknown(in: Subjects.devices) {
            deviceChanged(kept.subject, kept.data)
            hasRead(kept, of: Subjects.devices)
        }
    }

    /// Returns the first message that may have been missed in a stream.
    private func unknown(in stream: String) async throws(StoreError) -> JetStream.Kept? {
        let last = known.withLock { $0[stream] ?? 0 }
        return try await jetStream.next(">", from: last + 1, in: stream)
    }

    private func hasRead(_ kept: JetStream.Kept, of stream: String) {
        known.withLock { $0[stream] = max($0[stream] ?? 0, kept.sequence) }
    }

    private func elected(_ message: NATSMessage) {
        let stream = message.subject.split(separator: ".").last.map(String.init) ?? ""
        let isRead =
            [Subjects.streams, Subjects.keptStreams, "KV_nightshift_"].contains { stream.hasPrefix($0) }
            || stream == Subjects.seen
        guard isRead else { return }
        connection.pause(Self.settling) { [weak self] in self?.ear?.mayHaveMissed() }
    }

    // MARK: - Connected devices

    package func attach(_ device: DeviceID, connection number: UInt64, at: Int64) {
        let isHere = attachments.withLock { attachments in
            if attachments[device] != nil {
                attachments[device]?.connection = number
                attachments[device]?.epoch = nil
                return true
            }
            guard
                let subscription = try? connection.subscribe(
                    Subjects.live(device), { [weak self] in self?.told(device, $0) })
            else { return false }
            attachments[device] = Attachment(connection: number, subscription: subscription)
            return true
        }
        guard isHere else { return connection.pause(0) { self.drop(device, number) } }
        see(device, number, at: at, until: .now + .seconds(JetStream.timeout))
    }

    /// Records that the device is connected to this gateway. The order of such records is the order of the device's
    /// connections.
    private func see(_ device: DeviceID, _ number: UInt64, at: Int64, until end: ContinuousClock.Instant) {
        jetStream.write(Subjects.seen(device), Array("\(at)".utf8)) { result in
            switch result {
            case .success(.at(let epoch)): self.placed(device, number, epoch)
            case .success(.overtaken), .failure:
                guard self.isAttached(device, number) else { return }
                guard .now < end else { return self.drop(device, number) }
                self.connection.pause(0.25) { self.see(device, number, at: at, until: end) }
            }
        }
    }

    private func isAttached(_ device: DeviceID, _ number: UInt64) -> Bool {
        attachments.withLock { $0[device]?.connection == number }
    }

    private func placed(_ device: DeviceID, _ number: UInt64, _ epoch: UInt64) {
        let isOver = attachments.withLock { attachments in
            guard let attachment = attachments[device], attachment.connection == number else { return false }
            attachments[device]?.epoch = epoch
            return attachment.heard > epoch
        }
        if isOver { supersede(device, number) }
    }

    /// Handles the report that a connection of the device was recorded under the sequence `epoch`.
    func heard(_ device: DeviceID, epoch: UInt64) {
        let over: UInt64? = attachments.withLock { attachments in
            guard let attachment = attachments[device] else { return nil }
            attachments[device]?.heard = max(attachment.heard, epoch)
            guard let own = attachment.epoch, epoch > own else { return nil }
            return attachment.connection
        }
        if let over { supersede(device, over) }
    }

    /// Ends a connection of a device that is now connected to another gateway. This gateway immediately stops answering
    /// for the device, however long the closing of the connection takes.
    private func supersede(_ device: DeviceID, _ number: UInt64) {
        detach(device, connection: number)
        ear?.superseded(device, connection: number, Refusal(.replaced, "The device opened a new connection."))
    }

    private func drop(_ device: DeviceID, _ number: UInt64) {
        detach(device, connection: number)
        ear?.superseded(device, connection: number, Refusal(.trouble, "The gateway's storage failed."))
    }

    package func detach(_ device: DeviceID, connection number: UInt64) {
        // The subscription ends when its last reference is released. That must happen outside the lock.
        let ended = attachments.withLock { attachments -> Attachment? in
            guard attachments[device]?.connection == number else { return nil }
            return attachments.removeValue(forKey: device)
        }
        withExtendedLifetime(ended) {}
    }

    private func told(_ device: DeviceID, _ message: NATSMessage) {
        let parts = message.subject.split(separator: ".")
        switch parts.count {
        case 5:
            guard let sequence = message.header("Nats-Sequence").flatMap({ UInt64($0) }),
                let stored = KeptPush.stored(message.bytes, sequence: sequence)
            else { return }
            ear?.arrived(stored)
        case 4 where parts[3] == "here":
            guard let epoch = message.header("Nats-Sequence").flatMap({ UInt64($0) }) else { return }
            heard(device, epoch: epoch)
        case 4 where parts[3] == "keeps":
            guard let reply = message.reply else { return }
            let keepsEach = ear?.keepsEach(String(decoding: message.bytes, as: UTF8.self), of: device) ?? false
            connection.publish(reply, keepsEach ? Self.yes : [])
        case 4 where parts[3] == "once":
            guard let push = KeptPush.decode(message.bytes)?.push, push.device == device else { return }
            let discard = ear.map { $0.offered(push) } ?? .notConnected
            guard let reply = message.reply else { return }
            connection.publish(reply, Array((discard.map { DeliveryEvent.discarded($0).name } ?? "").utf8))
        default: break
        }
    }
}
