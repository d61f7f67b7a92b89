import Foundation
package import PushProtocol
package import PushRouting
package import PushStore
import Synchronization

extension NATSStore {
    package func store(
        _ push: Push, slot: Slot, heldUntil: Int64?, note: LogNote,
        completion: @escaping @Sendable (Result<Stored, StoreError>) -> Void
    ) {
        let subject = subjects.push(push.device, topic: push.topic, slot: slot)
        guard push.expiry != nil else {
            let error = StoreError(.refused, "A push with one attempt is not stored.")
            return connection.pause(0) { completion(.failure(error)) }
        }
        jetStream.write(subject, KeptPush.encode(push, slot: slot, heldUntil: heldUntil)) { result in
            switch result {
            case .success(.at(let sequence)):
                self.publish(note, slot: slot)
                if slot == .silent { self.removeHeld(push, before: sequence) }
                if slot.isKept { self.makeRoom(push, slot, sequence) }
                let stored = QueuedPush(push: push, slot: slot, sequence: Int64(sequence), heldUntil: heldUntil)
                completion(.success(Stored(stored: stored)))
            case .success(.overtaken): completion(.failure(StoreError(.other, "The store could not store the push.")))
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    /// Removes the held push that an accepted silent push replaces.
    private func removeHeld(_ push: Push, before sequence: UInt64) {
        let stream = subjects.stream(of: push.device, .held)
        jetStream.last(subjects.push(push.device, topic: push.topic, slot: .held), in: stream) { result in
            guard case .success(let kept?) = result, kept.sequence < sequence,
                let held = KeptPush.stored(kept.data, sequence: kept.sequence)
            else { return }
            self.jetStream.remove(kept.sequence, in: stream) { _ in }
            self.publish(LogNote(held.push.id, [.discarded(.replaced(by: push.id))], at: push.receivedAt))
        }
    }

    package func remove(
        _ place: StoredPlace, device: DeviceID, note: LogNote, completion: @escaping @Sendable (StoreError?) -> Void
    ) {
        publish(note)
        // Remove the held push by its sequence, so that no newer push is removed.
        let stream = subjects.stream(of: device, place.slot)
        jetStream.remove(UInt64(max(0, place.sequence)), in: stream, completion: completion)
    }

    package func waiting(
        for device: DeviceID, completion: @escaping @Sendable (Result<[QueuedPush], StoreError>) -> Void
    ) {
        // Read each place by its exact subject. A search by the device's prefix would examine the subjects of all
        // devices.
        jetStream.last(Subjects.device(device), in: Subjects.devices) { result in
            do throws(StoreError) {
                let kept = try result.get().flatMap { try? JSONDecoder().decode(KeptDevice.self, from: Data($0.data)) }
                self.waiting(for: device, topics: kept?.topics ?? [], completion: completion)
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func waiting(
        for device: DeviceID, topics: [String],
        completion: @escaping @Sendable (Result<[QueuedPush], StoreError>) -> Void
    ) {
        let places = topics.filter { UnifiedPushTopic($0) == nil }.flatMap { topic in
            [Slot.latest, .silent, .held].map { ($0, subjects.push(device, topic: topic, slot: $0)) }
        }
        let gathering = Gathering<[QueuedPush]>(places.count + topics.count + 1) { result in
            completion(
                result.map { found in
                    let (kept, others) = found.flatMap(\.self).divided { $0.slot.isKept }
                    return others + self.bounded(kept, of: device)
                })
        }
        // This read also discovers a connection to another gateway, if this gateway missed the report of it.
        jetStream.last(Subjects.seen(device), in: Subjects.seen) { result in
            if case .success(let kept?) = result { self.heard(device, epoch: kept.sequence) }
            gathering.add(result.map { _ in nil })
        }
        for (slot, place) in places {
            jetStream.last(place, in: subjects.stream(of: device, slot)) { result in
                gathering.add(
                    result.map { $0.flatMap { KeptPush.stored($0.data, sequence: $0.sequence) }.map { [$0] } })
            }
        }
        for topic in topics { kept(for: device, topic: topic) { gathering.add($0.map(Optional.some)) } }
    }

    // MARK: - Alerts

    package func keepsEach(
        _ topic: String, of device: DeviceID, completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        connection.request(Subjects.keeps(device), Array(topic.utf8), timeout: .seconds(2)) { result in
            switch result {
            case .success(let answer): completion(.success(answer == Self.yes))
            case .failure(let error) where error.message == NATSConnection.nobody: completion(.success(false))
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    static let yes = Array("yes".utf8)

    // MARK: - One attempt

    /// The reasons for which the gateway that has the device's connection may refuse an offered push.
    private static let reasons: [String: DeliveryEvent.Discard] = Dictionary(
        [DeliveryEvent.Discard.disabled, .expired, .notConnected, .rateLimit, .power, .notNow, .busy].map {
            (DeliveryEvent.discarded($0).name, $0)
        }, uniquingKeysWith: { $1 })

    package func offer(
        _ push: Push, completion: @escaping @Sendable (Result<DeliveryEvent.Discard?, StoreError>) -> Void
    ) {
        let data = KeptPush.encode(push, slot: nil, heldUntil: nil)
        connection.request(Subjects.once(push.device), data, timeout: .seconds(2)) { result in
            switch result {
            case .success(let bytes): completion(.success(Self.reasons[String(decoding: bytes, as: UTF8.self)]))
            case .failure(let error) where error.message == NATSConnection.nobody: completion(.success(.notConnected))
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    // MARK: - Silent pushes

    /// The maximum number of attempts to take a token from a bucket that other gateways also use.
    private static let attempts = 50

    package func takeSilent(
        _ topic: String, device: DeviceID, _ settings: TokenBucket.Settings, wallSeconds: Double,
        completion: @escaping @Sendable (Result<TokenBucket.Verdict, StoreError>) -> Void
    ) {
        take(Subjects.bucket(device, topic: topic), settings, wallSeconds, Self.attempts, completion)
    }

    private func take(
        _ subject: String, _ settings: TokenBucket.Settings, _ now: Double, _ attempts: Int,
        _ completion: @escaping @Sendable (Result<TokenBucket.Verdict, StoreError>) -> Void
    ) {
        jetStream.last(subject, in: Subjects.buckets) { result in
            let kept: JetStream.Kept?
            switch result {
            case .success(let found): kept = found
            case .failure(let error): return completion(.failure(error))
            }
            var bucket =
                kept.flatMap { try? JSONDecoder().decode(TokenBucket.self, from: Data($0.data)) }
                ?? TokenBucket(settings, now: now)
            guard bucket.take(settings, now: now) else {
                return completion(.success(.waits(bucket.wait(settings, now: now))))
            }
            guard let data = try? JSONEncoder().encode(bucket) else { return }
            // If two gateways try to take the same token, only one write succeeds.
            self.jetStream.write(subject, Array(data), last: kept?.sequence ?? 0) { result in
                switch result {
                case .success(.at): completion(.success(.passes))
                case .success(.overtaken) where attempts > 1:
                    self.take(subject, settings, now, attempts - 1, completion)
                case .success(.overtaken):
                    completion(.failure(StoreError(.unavailable, "Too many gateways used the same bucket at once.")))
                case .failure(let error): completion(.failure(error))
                }
            }
        }
    }
}

/// A collection of the results of several requests. It fails with the first error.
final class Gathering<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var missing: Int
        var isOver = false
    }

    private let state: Mutex<State>
    private let completion: @Sendable (Result<[Element], StoreError>) -> Void

    init(_ count: Int, _ completion: @escaping @Sendable (Result<[Element], StoreError>) -> Void) {
        state = Mutex(State(missing: count))
        self.completion = completion
    }

    func add(_ result: Result<Element?, StoreError>) {
        let outcome: Result<[Element], StoreError>? = state.withLock { state in
            guard !state.isOver else { return nil }
            switch result {
            case .success(let element):
                if let element { state.elements.append(element) }
                state.missing -= 1
                guard state.missing == 0 else { return nil }
                state.isOver = true
                return .success(state.elements)
            case .failure(let error):
                state.isOver = true
                return .failure(error)
            }
        }
        if let outcome { completion(outcome) }
    }
}
