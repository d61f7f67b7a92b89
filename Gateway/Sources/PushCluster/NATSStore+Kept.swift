import Foundation
package import PushProtocol
import PushRouting
package import PushStore

/// The storage of UnifiedPush messages, and of alerts that arrived while their devices were connected. All pushes of a
/// topic are stored under one subject, in order of arrival.
///
/// The servers store somewhat more than ``KeptMessages`` allows. A read returns only pushes within the limits, and
/// removes the others.
extension NATSStore {
    /// The number of stored messages after which the pushes of a device beyond its limits are removed.
    private static let sample: UInt64 = 64

    /// Returns all pushes of a registration, oldest first. Each read uses the exact subject and starts after the
    /// sequence of the previous push, so the server does not search other subjects.
    func kept(
        for device: DeviceID, topic: String, completion: @escaping JetStream.Completion<[QueuedPush]>
    ) {
        let subject = subjects.kept(device, topic: topic)
        kept(subject, in: subjects.keptStream(of: device), from: 1, [], completion)
    }

    private func kept(
        _ subject: String, in stream: String, from sequence: UInt64, _ before: [QueuedPush],
        _ completion: @escaping JetStream.Completion<[QueuedPush]>
    ) {
        jetStream.next(subject, from: sequence, in: stream) { result in
            switch result {
            case .success(let found?):
                let read = before + [KeptPush.stored(found.data, sequence: found.sequence)].compactMap(\.self)
                self.kept(subject, in: stream, from: found.sequence + 1, read, completion)
            case .success(nil): completion(.success(before))
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    /// Returns the pushes to send to a device. Removes pushes beyond the limits, and pushes that a newer message of the
    /// same topic has replaced.
    func bounded(_ messages: [QueuedPush], of device: DeviceID) -> [QueuedPush] {
        let (kept, lost) = KeptMessages.bounded(messages)
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        for (stored, why) in lost {
            remove(stored.place, device: device, note: LogNote(stored.push.id, [.discarded(why)], at: now)) { _ in }
        }
        return kept
    }

    /// Removes the messages that a new message replaces. From time to time, also removes pushes beyond the limits.
    func makeRoom(_ push: Push, _ slot: Slot, _ sequence: UInt64) {
        if sequence.isMultiple(of: Self.sample) { return waiting(for: push.device) { _ in } }
        guard case .named = slot else { return }
        kept(for: push.device, topic: push.topic) { result in
            if case .success(let messages) = result { _ = self.bounded(messages, of: push.device) }
        }
    }

    package func withdraw(
        _ push: PushID, topic: String, device: DeviceID, at: Int64,
        completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        kept(for: device, topic: topic) { result in
            switch result {
            case .success(let messages):
                guard let stored = messages.first(where: { $0.push.id == push }) else {
                    return completion(.success(false))
                }
                let note = LogNote(push, [.discarded(.withdrawn)], at: at)
                self.remove(stored.place, device: device, note: note) { error in
                    completion(error.map { .failure($0) } ?? .success(true))
                }
            case .failure(let error): completion(.failure(error))
            }
        }
    }
}

extension Array {
    /// Returns two lists: the elements for which `isWanted` is true, and the others.
    func divided(_ isWanted: (Element) -> Bool) -> ([Element], [Element]) {
        (filter(isWanted), filter { !isWanted($0) })
    }
}
