import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the rules of a session and a request about power and networks reach the service (row T3).
@Suite struct TransferRuleTests {
    @Test func `T3: A configuration without rules allows all networks and power states`() async throws {
        let world = try World()
        _ = world.process().session(Recorder())
        try await world.service.state.wait(for: "the session") { $0.settings["org.example.photos"] != nil }
        let settings = try #require(world.service.state.read { $0.settings["org.example.photos"] })
        #expect(!settings.isDiscretionary && !settings.requiresExternalPower && settings.minimumBattery == 0)
        #expect(
            settings.allowsCellularAccess && settings.allowsExpensiveNetworkAccess
                && settings.allowsConstrainedNetworkAccess)
    }

    private static let rules: [@Sendable (BackgroundConfiguration) -> Void] = [
        { $0.isDiscretionary = true }, { $0.allowsCellularAccess = false }, { $0.allowsExpensiveNetworkAccess = false },
        { $0.allowsConstrainedNetworkAccess = false }, { $0.requiresExternalPower = true },
        { $0.networkServiceType = .background },
        { $0.minimumBattery = 30 },
    ]

    private typealias Versions = (oldest: tls_protocol_version_t, newest: tls_protocol_version_t, sent: TLSSettings?)
    private static let versions: [Versions] = [
        (.TLSv12, .TLSv13, nil), (.TLSv10, .TLSv13, nil), (.TLSv13, .TLSv13, TLSSettings(minimumVersion: .tls13)),
        (.TLSv12, .TLSv12, TLSSettings(maximumVersion: .tls12)),
        (.TLSv10, .TLSv11, TLSSettings(maximumVersion: .tls12)),
        (.TLSv13, .TLSv12, TLSSettings(minimumVersion: .tls13)),
    ]

    @Test(arguments: versions.indices) func `T3: Limits of TLS versions reach the service`(_ index: Int)
        async throws
    {
        let (oldest, newest, sent) = Self.versions[index]
        let world = try World()
        let session = world.process().session(Recorder()) { configuration in
            configuration.tlsMinimumSupportedProtocolVersion = oldest
            configuration.tlsMaximumSupportedProtocolVersion = newest
        }
        try await world.service.state.wait(for: "the session") { $0.settings["org.example.photos"] != nil }
        #expect(world.service.state.read { $0.settings["org.example.photos"]?.tls } == sent)
        #expect(session.configuration.tlsMinimumSupportedProtocolVersion == oldest)
        #expect(session.configuration.tlsMaximumSupportedProtocolVersion == newest)
    }

    @Test(arguments: rules.indices) func `T3: Each property reaches the service without changing other properties`(
        _ index: Int
    )
        async throws
    {
        let world = try World()
        let session = world.process().session(Recorder(), Self.rules[index])
        try await world.service.state.wait(for: "the session") { $0.settings["org.example.photos"] != nil }
        let sent = try #require(world.service.state.read { $0.settings["org.example.photos"] })
        var expected = SessionSettings()
        expected.headers = sent.headers.filter { $0.name == "User-Agent" }
        switch index {
        case 0: expected.isDiscretionary = true
        case 1: expected.allowsCellularAccess = false
        case 2: expected.allowsExpensiveNetworkAccess = false
        case 3: expected.allowsConstrainedNetworkAccess = false
        case 4: expected.requiresExternalPower = true
        case 5: expected.yields = true
        default: expected.minimumBattery = 30
        }
        #expect(sent == expected)
        // The configuration that the app reads from its session has the value that it has set.
        let copy = try #require(session.configuration as? BackgroundConfiguration)
        #expect(copy.isDiscretionary == expected.isDiscretionary)
        #expect(copy.networkServiceType == (index == 5 ? .background : .default))
        #expect(copy.requiresExternalPower == expected.requiresExternalPower)
        #expect(copy.minimumBattery == expected.minimumBattery)
    }

    @Test(arguments: [(-5.0, 0.0), (130, 100)])
    func `T3: A percentage outside of 0 to 100 is limited to that range`(_ written: Double, _ sent: Double) async throws
    {
        let world = try World()
        _ = world.process().session(Recorder()) { $0.minimumBattery = written }
        try await world.service.state.wait(for: "the session") { $0.settings["org.example.photos"] != nil }
        #expect(world.service.state.read { $0.settings["org.example.photos"]?.minimumBattery } == sent)
    }

    @Test func `B9: A request for background traffic yields, whatever its session's other requests do`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        var request = URLRequest(url: url())
        request.networkServiceType = .background
        session.downloadTask(with: request).resume()
        session.downloadTask(with: url()).resume()
        let requests = world.service.state.read { $0.requests }
        #expect(requests[1]?.request.yields == true && requests[2]?.request.yields == nil)
    }

    @Test func `T3: A later process and resume data keep a request's ban on mobile networks`() async throws {
        let world = try World()
        let first = world.process()
        let session = first.session(Recorder())
        var request = URLRequest(url: url())
        request.allowsCellularAccess = false
        session.downloadTask(with: request).resume()
        session.downloadTask(with: url()).resume()
        let requests = world.service.state.read { $0.requests }
        #expect(requests[1]?.request.allowsCellularAccess == false)
        // The session decides for this request.
        #expect(requests[2]?.request.allowsCellularAccess == nil)
        first.die()
        let tasks = await world.process().session(Recorder()).allTasks.sorted { $0.taskIdentifier < $1.taskIdentifier }
        #expect(tasks.map { $0.originalRequest?.allowsCellularAccess } == [false, true])
        // A download from its resume data forbids mobile networks too.
        let download = try #require(tasks.first as? URLSessionDownloadTask)
        let data = try #require(await download.cancelByProducingResumeData())
        let third = world.process().session(Recorder())
        third.downloadTask(withResumeData: data).resume()
        let again = try #require(world.service.state.read { $0.requests[3]?.request })
        #expect(again.resumeData != nil && again.allowsCellularAccess == false)
    }
}
