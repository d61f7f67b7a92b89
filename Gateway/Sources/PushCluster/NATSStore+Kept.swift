import Foundation
package import PushProtocol
import PushRouting
package import PushStore

/// Messages of UnifiedPush, and alerts that came while their devices were connected: all of them wait, in the order in which they
/// came, under one subject a topic.
///
/// The servers keep somewhat more than ``KeptMessages``; what is read is within it, and the rest is removed then.
extension NATSStore {
    /// A message of so many is the occasion to remove what a device has more than is kept.
    private static let sample: UInt64 = 64

    /// All that stands under a registration's subject, oldest first. Each is read by its name and the sequence of the
    /// one before it, which looks at no other subject.
    func kept(
        for device: DeviceID, topic: String, completion: @escaping JetStream.Completion<[StoredPush]>
    ) {
        let subject = subjects.kept(device, topic: topic)
        kept(subject, in: subjects.keptStream(of: device), from: 1, [], completion)
    }

    private func kept(
        _ subject: String, in stream: String, from sequence: UInt64, _ before: [StoredPush],
        _ completion: @escaping JetStream.Completion<[StoredPush]>
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

    /// What a device is sent of its messages; what is more than is kept, or has a newer one of its topic, is removed.
    func bounded(_ messages: [StoredPush], of device: DeviceID) -> [StoredPush] {
        let (kept, lost) = KeptMessages.bounded(messages)
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        for (stored, why) in lost {
            remove(stored.place, device: device, note: LogNote(stored.push.id, [.discarded(why)], at: now)) { _ in }
        }
        return kept
    }

    /// Behind the write: a message that replaces others removes them, and once in a while what is too much goes.
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
    /// Those for which `isWanted` holds, and the others.
    func divided(_ isWanted: (Element) -> Bool) -> ([Element], [Element]) {
        (filter(isWanted), filter { !isWanted($0) })
    }
}
