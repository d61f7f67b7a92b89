import Foundation
import PushRouting
import PushStore

/// The required configuration of a stream.
struct StreamPlan: Encodable, Sendable {
    struct Republish: Encodable, Sendable {
        var src: String
        var dest: String
        var headersOnly: Bool?
    }

    var name: String
    var subjects: [String]
    var maxMsgsPerSubject: Int64 = 1
    var maxMsgs: Int64?
    /// The longest age of a message, in nanoseconds; 0 for no limit.
    var maxAge: Int64 = 0
    var storage = "file"
    var discard = "old"
    var retention = "limits"
    var numReplicas: Int
    var republish: Republish?
    var allowRollupHdrs: Bool?

    private static let day: Int64 = 86_400_000_000_000

    static func all(_ settings: NATSSettings) -> [StreamPlan] {
        let replicas = settings.replicas
        // The stream's leader republishes each message after the write, and also answers reads. Therefore a client
        // that subscribes before it reads misses no message: it either reads the message or receives it.
        var plans = (0..<settings.streams).map { number in
            StreamPlan(
                name: Subjects.stream(number), subjects: ["nightshift.push.\(number).*.*.*"], maxAge: 31 * day,
                numReplicas: replicas,
                republish: Republish(
                    src: "nightshift.push.\(number).*.*.*",
                    dest: "nightshift.live.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}"))
        }
        // This limit is higher than the limit for reads, because a replaced message may not have been removed yet.
        plans += (0..<settings.streams).map { number in
            StreamPlan(
                name: Subjects.keptStream(number), subjects: ["nightshift.kept.\(number).*.*"],
                maxMsgsPerSubject: Int64(KeptMessages.countOfDevice * 5 / 4), maxAge: 31 * day, numReplicas: replicas,
                republish: Republish(
                    src: "nightshift.kept.\(number).*.*",
                    dest: "nightshift.live.{{wildcard(1)}}.{{wildcard(2)}}.kept"))
        }
        plans.append(
            StreamPlan(
                name: Subjects.registry, subjects: ["$KV.nightshift_registry.>"], numReplicas: replicas,
                republish: Republish(
                    src: "$KV.nightshift_registry.>", dest: "nightshift.changed.registry.>", headersOnly: true),
                allowRollupHdrs: true))
        plans.append(
            StreamPlan(
                name: Subjects.devices, subjects: ["$KV.nightshift_devices.*"], numReplicas: replicas,
                republish: Republish(
                    src: "$KV.nightshift_devices.*", dest: "nightshift.changed.device.{{wildcard(1)}}"),
                allowRollupHdrs: true))
        plans.append(
            StreamPlan(
                name: Subjects.tokens, subjects: ["$KV.nightshift_tokens.*"], numReplicas: replicas,
                allowRollupHdrs: true))
        // A code is valid for at most a week, so delete it after that.
        plans.append(
            StreamPlan(
                name: Subjects.enrolments, subjects: ["$KV.nightshift_enrolments.*"], maxAge: 8 * day,
                numReplicas: replicas, allowRollupHdrs: true))
        plans.append(
            StreamPlan(
                name: Subjects.seen, subjects: ["nightshift.seen.*"], numReplicas: replicas,
                republish: Republish(
                    src: "nightshift.seen.*", dest: "nightshift.live.{{wildcard(1)}}.here", headersOnly: true)))
        // Every bucket is full after an hour, and a full bucket need not be stored.
        plans.append(
            StreamPlan(
                name: Subjects.buckets, subjects: ["nightshift.bucket.*.*"], maxAge: day / 12, storage: "memory",
                numReplicas: replicas))
        plans.append(
            StreamPlan(
                name: Subjects.log, subjects: ["nightshift.log.*"], maxMsgsPerSubject: -1,
                maxMsgs: settings.logLimit.map(Int64.init), numReplicas: replicas,
                republish: Republish(
                    src: "nightshift.log.*", dest: "nightshift.logged.{{wildcard(1)}}", headersOnly: true)))
        return plans
    }
}

/// The configuration and state of a stream.
struct StreamInformation: Decodable, Sendable {
    struct Configuration: Decodable, Sendable {
        var numReplicas: Int
        var maxMsgs: Int64?
        var maxMsgsPerSubject: Int64?
    }

    struct State: Decodable, Sendable {
        var messages: Int
        var firstSeq: UInt64
        var lastSeq: UInt64
        var subjects: [String: Int]?
    }

    struct Cluster: Decodable, Sendable {
        struct Replica: Decodable, Sendable {
            var name: String
            var current: Bool
            var offline: Bool?
            /// The number of operations by which the replica lags behind the leader.
            var lag: Int?
        }

        var leader: String?
        var replicas: [Replica]?
    }

    var config: Configuration?
    var state: State?
    var cluster: Cluster?
    var error: JetStream.Failure?
}

extension JetStream {
    func information(of stream: String, subjects: String? = nil) async throws(StoreError) -> StreamInformation {
        let request = subjects.map { #"{"subjects_filter":"\#($0)"}"# } ?? ""
        let answer = try await ask("STREAM.INFO.\(stream)", request, as: StreamInformation.self)
        if let error = answer.error { throw error.error }
        return answer
    }

    /// Creates the stream if it is missing. Throws an error if an existing stream has too few replicas.
    func prepare(_ plan: StreamPlan) async throws(StoreError) {
        let found = try await ask("STREAM.INFO.\(plan.name)", "", as: StreamInformation.self)
        if let configuration = found.config {
            guard configuration.numReplicas >= plan.numReplicas else {
                throw StoreError(
                    .refused,
                    "The stream \(plan.name) has \(configuration.numReplicas) replicas, not \(plan.numReplicas).")
            }
            let isAsPlanned =
                configuration.maxMsgs == plan.maxMsgs ?? configuration.maxMsgs
                && configuration.maxMsgsPerSubject ?? plan.maxMsgsPerSubject >= plan.maxMsgsPerSubject
            if !isAsPlanned { try await send("UPDATE", plan) }
            return
        }
        guard found.error?.errCode == Failure.streamNotFound else {
            throw found.error?.error ?? StoreError(.other, "NATS returned no configuration of the stream \(plan.name).")
        }
        try await send("CREATE", plan)
    }

    private func send(_ verb: String, _ plan: StreamPlan) async throws(StoreError) {
        guard let request = try? Self.encoder.encode(plan) else { return }
        let text = String(decoding: request, as: UTF8.self)
        let answer = try await ask("STREAM.\(verb).\(plan.name)", text, as: StreamInformation.self)
        guard let error = answer.error else { return }
        // Another gateway may have created the stream at the same time.
        if try await ask("STREAM.INFO.\(plan.name)", "", as: StreamInformation.self).config != nil { return }
        throw error.error
    }
}
