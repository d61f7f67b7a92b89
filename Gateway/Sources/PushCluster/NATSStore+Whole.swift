import Foundation
package import PushRouting
package import PushStore

extension NATSStore: GatewayStore {
    package var depth: Int { connection.depth }
    package var isShared: Bool { true }

    package func counts() async throws(StoreError) -> StoreCounts {
        let teams = try await jetStream.information(of: Subjects.registry, subjects: "$KV.nightshift_registry.team.*")
        let devices = try await jetStream.information(of: Subjects.devices)
        let tokens = try await jetStream.information(of: Subjects.tokens)
        var stored = 0
        for number in 0..<settings.streams {
            for stream in [Subjects.stream(number), Subjects.keptStream(number)] {
                stored += try await jetStream.information(of: stream).state?.messages ?? 0
            }
        }
        return StoreCounts(
            teams: teams.state?.subjects?.count ?? 0, devices: devices.state?.messages ?? 0,
            tokens: tokens.state?.messages ?? 0, stored: stored, held: nil)
    }

    package func probe() async throws(StoreError) {
        _ = try await jetStream.write(Subjects.probe, [])
    }

    /// Does nothing. The servers limit the age and size of streams, and expired pushes are not delivered.
    package func tidy(now: RouteTime, logLimit: Int) async throws(StoreError) {}

    package func check() async throws(StoreError) -> String? {
        var findings: [String] = []
        for plan in StreamPlan.all(settings) {
            let stream = try await jetStream.information(of: plan.name)
            guard let cluster = stream.cluster, plan.numReplicas > 1 else { continue }
            if cluster.leader == nil { findings.append("\(plan.name) has no leader.") }
            let late = (cluster.replicas ?? []).filter { !$0.current || $0.offline == true }.map { replica in
                let lag = replica.lag.map { " by \($0)" } ?? ""
                return replica.name + (replica.offline == true ? ", which is offline," : "") + lag
            }
            if !late.isEmpty { findings.append("The replicas of \(plan.name) lag on \(late.joined(separator: ", ")).") }
        }
        return findings.isEmpty ? nil : findings.joined(separator: " ")
    }

    package func settle() async throws(StoreError) {
        try connection.flush()
    }

    package func close() async throws(StoreError) {
        connection.close()
    }
}
