import Foundation
import JWTKit
import PushProtocol
import PushRouting
import PushStore

/// An executor of an operator's requests.
struct Administration: Sendable {
    let gateway: Gateway

    /// The number of log entries that are read together.
    private static let page = 500
    private static let deviceLimit = 10_000

    /// Executes a request.
    ///
    /// - Parameter reply: called with each line of the answer. It returns false if the client no longer reads.
    func answer(_ request: AdministrationRequest, reply: @Sendable (AdministrationReply) async -> Bool) async {
        do {
            if case .log(let count, let follow) = request {
                try await log(count, follow, reply)
            } else {
                _ = await reply(try await answer(request))
            }
        } catch let error as StoreError {
            _ = await reply(.failed(error.description))
        } catch {
            _ = await reply(.failed("\(error)"))
        }
    }

    private func answer(_ request: AdministrationRequest) async throws -> AdministrationReply {
        let store = gateway.store
        let now = GatewayClock.now().wallMilliseconds
        switch request {
        case .addTeam(let id, let name):
            try Self.check(id, "team")
            try await store.addTeam(id, name: name, at: now)
            try await gateway.directory.reload()
            return .done("Team \(id) was added.")
        case .suspendTeam(let id, let isSuspended):
            try await store.suspendTeam(id, at: isSuspended ? now : nil)
            try await gateway.directory.reload()
            return .done(isSuspended ? "Team \(id) may no longer send pushes." : "Team \(id) may send pushes again.")
        case .addKey(let id, let team, let environment, let pem):
            try Self.check(id, "key")
            guard let environment = KeyRecord.Environment(rawValue: environment) else {
                throw GatewayError(
                    "The environment '\(environment)' does not exist. Use any, production or development.")
            }
            let record = KeyRecord(
                id: id, team: team, environment: environment, publicKey: try Self.publicKey(pem), createdAt: now)
            try await store.addKey(record)
            try await gateway.directory.reload()
            return .done("Key \(id) of team \(team) was added.")
        case .revokeKey(let id):
            try await store.revokeKey(id, at: now)
            try await gateway.directory.reload()
            return .done("Key \(id) is revoked.")
        case .addTopic(let name, let team):
            do throws(Rejection) {
                _ = try TopicName(name, type: nil)
            } catch {
                throw GatewayError(
                    "'\(name)' is not a topic. A topic has only letters, digits, dots, hyphens and underscores.")
            }
            try await store.addTopic(TopicRecord(name, team: team, at: now))
            try await gateway.directory.reload()
            return .done("Topic \(name) belongs to team \(team).")
        case .teams:
            return .teams(
                try await store.providers().teams.map {
                    .init(id: $0.id, name: $0.name, isSuspended: $0.suspendedAt != nil)
                })
        case .keys:
            return .keys(
                try await store.providers().keys.map {
                    .init(
                        id: $0.id, team: $0.team, environment: $0.environment.rawValue, isRevoked: $0.revokedAt != nil)
                })
        case .topics:
            return .topics(try await store.providers().topics.map { .init(name: $0.name, team: $0.team) })
        case .devices:
            return .devices(try await store.devices(limit: Self.deviceLimit).map(device))
        case .device(let id): return try await show(try Self.identifier(id))
        case .revokeDevice(let id): return try await revoke(try Self.identifier(id), now)
        case .enrol(let name, let lifetime): return try await enrol(name, lifetime, now)
        case .push(let id):
            let push = try Self.identifier(id)
            let entries = try await store.log(of: push)
            guard !entries.isEmpty else { throw GatewayError("The log has no push \(id).") }
            return .log(entries.map(Self.line))
        case .status:
            let counts = try await store.counts()
            let connections = gateway.counts()
            return .status(
                .init(
                    teams: counts.teams, devices: counts.devices, tokens: counts.tokens, stored: counts.stored,
                    held: counts.held, providerConnections: connections.providers,
                    deviceConnections: connections.devices))
        case .log: return .failed("A log has more than one line.")
        }
    }

    private static func check(_ id: String, _ what: String) throws {
        guard id.utf8.count == 10, id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw GatewayError("'\(id)' is not the id of a \(what). An id has ten letters and digits.")
        }
    }

    private static func identifier(_ text: String) throws -> Identifier {
        guard let identifier = Identifier(text, lenient: true) else { throw GatewayError("'\(text)' is not an id.") }
        return identifier
    }

    /// Returns the public key of a PEM text. If the text contains a private key, returns only its public part.
    private static func publicKey(_ pem: String) throws -> String {
        if let key = try? ES256PublicKey(pem: pem) { return key.pemRepresentation }
        if let key = try? ES256PrivateKey(pem: pem) { return key.publicKey.pemRepresentation }
        throw GatewayError("The file has no P-256 key in PEM format.")
    }

    // MARK: - Devices

    private func device(_ record: DeviceRecord) -> AdministrationReply.Device {
        .init(
            id: record.id.description, name: record.name, isConnected: gateway.switchboard.isConnected(record.id),
            isRevoked: record.revokedAt != nil, createdAt: TimestampText.text(record.createdAt),
            seenAt: record.seenAt.map(TimestampText.text))
    }

    private func show(_ id: DeviceID) async throws -> AdministrationReply {
        let record = try await gateway.store.device(id)
        let tokens = try await gateway.store.tokens(of: id)
        let waiting = try await gateway.store.waiting(for: id)
        guard let record else { throw GatewayError("The device \(id) does not exist.") }
        return .device(
            device(record),
            tokens: tokens.map {
                .init(
                    token: $0.token, topic: $0.topic, endedAt: $0.endedAt.map(TimestampText.text),
                    endedBy: $0.endedBy?.rawValue)
            },
            waiting: waiting.map {
                .init(
                    id: $0.push.id.description, topic: $0.push.topic, isHeld: $0.slot == .held,
                    heldUntil: $0.heldUntil.map(TimestampText.text),
                    expiresAt: TimestampText.text(($0.push.expiry ?? 0) * 1_000))
            })
    }

    private func revoke(_ id: DeviceID, _ now: Int64) async throws -> AdministrationReply {
        let tokens = try await gateway.store.revokeDevice(id, at: now)
        gateway.directory.forget(tokens)
        gateway.switchboard.revoked(id)
        return .done("Device \(id) is revoked, with \(tokens.count) tokens.")
    }

    private func enrol(_ name: String, _ lifetime: Int, _ now: Int64) async throws -> AdministrationReply {
        guard (60...604_800).contains(lifetime) else {
            throw GatewayError("A code must be valid for at least a minute and at most a week.")
        }
        let code = EnrolmentCode.make()
        let expiresAt = now + Int64(lifetime) * 1_000
        let hash = EnrolmentCode.hash(code)
        try await gateway.store.addEnrolment(hash: hash, name: name, expiresAt: expiresAt, now: now)
        return .enrolment(
            .init(url: gateway.enrolmentURL(code), code: code, expiresAt: TimestampText.text(expiresAt)))
    }

    // MARK: - The log

    private func log(
        _ count: Int, _ follow: Bool, _ reply: @Sendable (AdministrationReply) async -> Bool
    ) async throws {
        let growth = gateway.growth.growth()
        if follow { gateway.store.logIsFollowed(true) }
        defer { if follow { gateway.store.logIsFollowed(false) } }
        var last = try await gateway.store.lastLogEntry()
        last = max(0, last - Int64(max(0, min(count, 100_000))))
        func pages() async throws -> Bool {
            while true {
                let behind = last
                let entries = try await gateway.store.log(after: behind, limit: Self.page)
                guard let end = entries.last else { return true }
                last = end.entry
                guard await reply(.log(entries.map(Self.line))) else { return false }
            }
        }
        guard try await pages(), follow else { return }
        for await _ in growth {
            guard try await pages() else { return }
        }
    }

    private static func line(_ entry: LogEntry) -> AdministrationReply.Line {
        .init(
            push: entry.push.description, at: TimestampText.text(entry.at), event: entry.event,
            sentence: DeliveryEvent.sentence(name: entry.event, detail: entry.detail, time: TimestampText.text),
            detail: entry.detail, device: entry.device?.description, topic: entry.topic,
            payload: entry.payload.map { String(decoding: $0, as: UTF8.self) })
    }
}
