import Foundation
import PushStore

/// A client of JetStream's API.
///
/// Reads go to a stream's leader (`STREAM.MSG.GET`), because a replica may lag.
struct JetStream: Sendable {
    let connection: NATSConnection

    /// A decoder for JetStream's API, whose keys contain underscores.
    static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return encoder
    }

    struct Failure: Decodable, Sendable {
        var code: Int
        var errCode: Int?
        var description: String?

        static let wrongLastSequence = 10_071
        static let noMessage = 10_037
        static let streamNotFound = 10_059
        /// The error code for "no suitable peers for placement". Its status is 400.
        static let noPeers = 10_005

        /// Whether a retry may succeed: the cluster has no leader or no quorum, or its servers have not found each
        /// other yet.
        var isTemporary: Bool { code == 503 || errCode == Self.noPeers }

        var error: StoreError {
            let text = "NATS: \(description ?? "error \(code)")"
            // A full disk is among the reasons for status 500, so a later attempt may succeed.
            return StoreError(isTemporary || code == 500 ? .unavailable : .other, text)
        }
    }

    /// A message that is stored in a stream.
    struct Kept: Sendable {
        var subject: String
        var sequence: UInt64
        var data: [UInt8]
    }

    /// The result of a write.
    enum Written: Sendable {
        case at(UInt64)
        /// The result if another client has written to the subject since it was read.
        case overtaken
    }

    private struct Acknowledgement: Decodable {
        var seq: UInt64?
        var duplicate: Bool?
        var error: Failure?
    }

    private struct Answer: Decodable {
        struct Message: Decodable {
            var subject: String
            var seq: UInt64
            var data: Data?
        }

        var message: Message?
        var error: Failure?
    }

    typealias Completion<Value> = @Sendable (Result<Value, StoreError>) -> Void

    /// The time for which a repeatable request is retried, in seconds. Streams elect a new leader in less time.
    static let timeout = 20.0
    private static let pause = 0.25

    // MARK: - Writing

    /// Publishes a message to the stream of its subject. Completes when a majority of the stream's replicas has stored
    /// it.
    ///
    /// - Parameter last: the expected sequence of the subject's last message; nil to write without this condition.
    func write(
        _ subject: String, _ data: [UInt8], last: UInt64? = nil, isRemoval: Bool = false,
        completion: @escaping Completion<Written>
    ) {
        var headers: [(name: String, value: String)] = []
        if let last {
            headers.append(("Nats-Expected-Last-Subject-Sequence", "\(last)"))
            // In a cluster, nats-server 2.9.10 compares the sequence before the replicas agree, so two concurrent
            // writes may both pass. The server compares message ids after the agreement. Therefore the id ensures that
            // only one write after the same last message succeeds.
            headers.append(("Nats-Msg-Id", "\(subject):\(last)"))
        }
        if isRemoval { headers.append(("KV-Operation", "DEL")) }
        connection.request(subject, data, headers: headers) { result in
            completion(
                result.flatMap { bytes in
                    guard let answer = try? Self.decoder.decode(Acknowledgement.self, from: Data(bytes)) else {
                        return .failure(StoreError(.other, "NATS sent an invalid response."))
                    }
                    if answer.error?.errCode == Failure.wrongLastSequence || answer.duplicate == true {
                        return .success(.overtaken)
                    }
                    if let error = answer.error { return .failure(error.error) }
                    return .success(.at(answer.seq ?? 0))
                })
        }
    }

    func write(
        _ subject: String, _ data: [UInt8], last: UInt64? = nil, isRemoval: Bool = false
    ) async throws(StoreError) -> Written {
        try await wait { write(subject, data, last: last, isRemoval: isRemoval, completion: $0) }
    }

    // MARK: - Reading

    /// Reads the last message of a subject.
    func last(_ subject: String, in stream: String, completion: @escaping Completion<Kept?>) {
        get(#"{"last_by_subj":"\#(subject)"}"#, in: stream, completion: completion)
    }

    func last(_ subject: String, in stream: String) async throws(StoreError) -> Kept? {
        try await wait { last(subject, in: stream, completion: $0) }
    }

    /// Reads the first message at or after `sequence` whose subject matches `filter`.
    func next(
        _ filter: String, from sequence: UInt64, in stream: String, completion: @escaping Completion<Kept?>
    ) {
        get(#"{"seq":\#(sequence),"next_by_subj":"\#(filter)"}"#, in: stream, completion: completion)
    }

    func next(_ filter: String, from sequence: UInt64, in stream: String) async throws(StoreError) -> Kept? {
        try await wait { next(filter, from: sequence, in: stream, completion: $0) }
    }

    func message(_ sequence: UInt64, in stream: String, completion: @escaping Completion<Kept?>) {
        get(#"{"seq":\#(sequence)}"#, in: stream, completion: completion)
    }

    /// Returns the messages whose subjects match `filter`, oldest first.
    func all(_ filter: String, in stream: String, limit: Int = .max) async throws(StoreError) -> [Kept] {
        var all: [Kept] = []
        var sequence: UInt64 = 1
        while all.count < limit, let kept = try await next(filter, from: sequence, in: stream) {
            all.append(kept)
            sequence = kept.sequence + 1
        }
        return all
    }

    private func get(_ request: String, in stream: String, completion: @escaping Completion<Kept?>) {
        ask("STREAM.MSG.GET.\(stream)", request, as: Answer.self) { result in
            completion(
                result.flatMap { answer in
                    if let error = answer.error {
                        return error.errCode == Failure.noMessage ? .success(nil) : .failure(error.error)
                    }
                    let kept = answer.message.map {
                        Kept(subject: $0.subject, sequence: $0.seq, data: $0.data.map { Array($0) } ?? [])
                    }
                    return .success(kept)
                })
        }
    }

    // MARK: - Removing

    private struct Removal: Decodable {
        var success: Bool?
        var error: Failure?
    }

    /// Removes the message with this sequence from its stream. A message that is already removed is not an error.
    func remove(_ sequence: UInt64, in stream: String, completion: @escaping @Sendable (StoreError?) -> Void) {
        let request = #"{"seq":\#(sequence),"no_erase":true}"#
        ask("STREAM.MSG.DELETE.\(stream)", request, as: Removal.self) { result in
            switch result {
            case .success(let answer):
                let error = answer.error.flatMap { $0.description?.contains("not found") == true ? nil : $0 }
                completion(error.flatMap { $0.description?.contains("no message") == true ? nil : $0.error })
            case .failure(let error): completion(error)
            }
        }
    }

    // MARK: - The API

    /// Sends a request to the API. Retries temporary errors until a time limit, because a stream without a leader will
    /// elect one. The requests that use this function can be repeated safely.
    func ask<Value: Decodable & Sendable>(
        _ name: String, _ request: String, as type: Value.Type, completion: @escaping Completion<Value>
    ) {
        ask(name, request, until: .now + .seconds(Self.timeout), type, completion)
    }

    private struct Refused: Decodable {
        var error: Failure?
    }

    private func ask<Value: Decodable & Sendable>(
        _ name: String, _ request: String, until end: ContinuousClock.Instant, _ type: Value.Type,
        _ completion: @escaping Completion<Value>
    ) {
        connection.request("$JS.API.\(name)", Array(request.utf8), timeout: .seconds(2)) { result in
            var failure: StoreError?
            switch result {
            case .success(let bytes):
                let data = Data(bytes)
                let refused = try? Self.decoder.decode(Refused.self, from: data)
                if let error = refused?.error, error.isTemporary {
                    failure = error.error
                } else {
                    guard let value = try? Self.decoder.decode(type, from: data) else {
                        let text = "NATS sent an invalid response."
                        return completion(.failure(StoreError(.other, text)))
                    }
                    return completion(.success(value))
                }
            case .failure(let error): failure = error
            }
            guard let failure else { return }
            guard failure.code == .unavailable, .now < end else { return completion(.failure(failure)) }
            connection.pause(Self.pause) { ask(name, request, until: end, type, completion) }
        }
    }

    func ask<Value: Decodable & Sendable>(
        _ name: String, _ request: String, as type: Value.Type
    ) async throws(StoreError) -> Value {
        try await wait { ask(name, request, as: type, completion: $0) }
    }

    private func wait<Value: Sendable>(
        _ body: (@escaping Completion<Value>) -> Void
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            body { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
