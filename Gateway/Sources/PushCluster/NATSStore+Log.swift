import Foundation
package import PushProtocol
import PushRouting
package import PushStore
import Synchronization

/// The delivery log. Its stream discards the oldest lines. Callers do not wait until a line is durable.
extension NATSStore {
    /// Writes a note to the delivery log.
    ///
    /// - Parameter slot: the slot in which the push is stored; nil if it is not stored.
    func publish(_ note: LogNote, slot: Slot? = nil) {
        guard let data = try? Self.encode(KeptNote(note, slot: slot)) else { return }
        connection.publish(Subjects.log(note.push), data)
    }

    package func write(_ note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void) {
        publish(note)
        connection.pause(0) { completion(nil) }
    }

    package func log(of push: PushID) async throws(StoreError) -> [LogEntry] {
        let kept = try await jetStream.all(Subjects.log(push), in: Subjects.log)
        var entries = kept.flatMap(Self.entries).withOneFate
        guard let device = entries.first?.device, let topic = entries.first?.topic else { return entries }
        let slot = entries.contains { $0.event == "held" } ? .held : kept.first.flatMap(Self.slot) ?? .latest
        if let fate = try await fate(of: push, device, topic, slot, entries) { entries.append(fate) }
        return entries
    }

    /// Determines an outcome that the log lacks: the push waits for its device, or another push has replaced it.
    private func fate(
        of push: PushID, _ device: DeviceID, _ topic: String, _ slot: Slot, _ entries: [LogEntry]
    ) async throws(StoreError) -> LogEntry? {
        guard let last = entries.last,
            last.event == "received" || last.event.hasPrefix("stored") || last.event == "held"
        else { return nil }
        guard let stored = try await stored(push, device, topic, slot) else { return nil }
        let event: DeliveryEvent
        if stored.push.id != push {
            guard stored.push.receivedAt >= entries[0].at else { return nil }
            event = .discarded(.replaced(by: stored.push.id))
        } else {
            guard last.event == "received" else { return nil }
            event = .storedOffline
        }
        return LogEntry(entry: last.entry, push: push, at: last.at, event: event.name, detail: event.detail)
    }

    /// Reads the push that is stored in the slot of `push`.
    private func stored(
        _ push: PushID, _ device: DeviceID, _ topic: String, _ slot: Slot
    ) async throws(StoreError) -> QueuedPush? {
        if slot.isKept {
            let result = await withCheckedContinuation { continuation in
                self.kept(for: device, topic: topic) { continuation.resume(returning: $0) }
            }
            return try result.get().last { $0.slot == slot }
        }
        let subject = subjects.push(device, topic: topic, slot: slot)
        let kept = try await jetStream.last(subject, in: subjects.stream(of: device, slot))
        return kept.flatMap { KeptPush.stored($0.data, sequence: $0.sequence) }
    }

    private static func slot(_ kept: JetStream.Kept) -> Slot? {
        (try? JSONDecoder().decode(KeptNote.self, from: Data(kept.data)))?.slot.flatMap { Slot(text: $0) }
    }

    private static func entries(_ kept: JetStream.Kept) -> [LogEntry] {
        guard let push = kept.subject.split(separator: ".").last.flatMap({ Subjects.identifier($0) }),
            let note = try? JSONDecoder().decode(KeptNote.self, from: Data(kept.data))
        else { return [] }
        return note.entries(kept.sequence, push: push)
    }

    package func log(after entry: Int64, limit: Int) async throws(StoreError) -> [LogEntry] {
        guard let state = try await jetStream.information(of: Subjects.log).state else { return [] }
        let first = max(UInt64(max(0, entry)) + 1, state.firstSeq)
        guard first <= state.lastSeq else { return [] }
        let end = min(state.lastSeq, first + UInt64(limit) - 1)
        let result: Result<[[LogEntry]], StoreError> = await withCheckedContinuation { continuation in
            let gathering = Gathering<[LogEntry]>(Int(end - first) + 1) { continuation.resume(returning: $0) }
            for sequence in first...end {
                jetStream.message(sequence, in: Subjects.log) { result in
                    gathering.add(result.map { $0.map(Self.entries) })
                }
            }
        }
        return try result.get().flatMap(\.self).sorted { $0.entry < $1.entry }
    }

    package func lastLogEntry() async throws(StoreError) -> Int64 {
        Int64(try await jetStream.information(of: Subjects.log).state?.lastSeq ?? 0)
    }

    package func logIsFollowed(_ isFollowed: Bool) {
        followers.withLock { followers in
            followers.count += isFollowed ? 1 : -1
            if followers.count == 0 { followers.subscription = nil }
            guard followers.count > 0, followers.subscription == nil else { return }
            followers.subscription = try? connection.subscribe("nightshift.logged.*") { [weak self] _ in
                self?.ear?.logGrew()
            }
        }
    }
}
