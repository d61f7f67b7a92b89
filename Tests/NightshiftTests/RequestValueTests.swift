import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of values of tasks, requests and configurations at their limits, compared with Foundation's.
@Suite struct RequestValueTests {
    @Test func `T7: A request that allows only cached data fails without loading`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        var request = URLRequest(url: url())
        request.cachePolicy = .returnCacheDataDontLoad
        let file = try world.directory.write("12345678", to: "body")
        session.downloadTask(with: request).resume()
        try await delegate.heard.wait(for: "the first end") { $0.count == 1 }
        session.uploadTask(with: request, fromFile: URL(filePath: file)).resume()
        try await delegate.heard.wait(for: "the second end") { $0.count == 2 }
        session.dataTask(with: request).resume()
        #expect(try await delegate.heard.are(["1 completed -1008", "2 completed -1008", "3 completed -1008"]))
        #expect(world.service.state.read(\.requests).isEmpty)
        session.invalidateAndCancel()
    }

    @Test func `T7: The cache policy of a configuration applies to requests without a policy`() async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate) { $0.requestCachePolicy = .returnCacheDataDontLoad }
        session.downloadTask(with: url()).resume()
        try await delegate.heard.wait(for: "the end") { $0 == ["1 completed -1008"] }
        var request = URLRequest(url: url())
        request.cachePolicy = .reloadIgnoringLocalCacheData
        session.downloadTask(with: request).resume()
        #expect(world.service.state.read { $0.requests[2] != nil })
        session.invalidateAndCancel()
    }

    @Test(arguments: [600, 999])
    func `T9: An HTTP status that is not registered is a result`(status: Int) async throws {
        let world = try World()
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.resume()
        try world.service.end(1, status: status, content: "denied")
        #expect(try await delegate.heard.are(["1 wrote 6, 6/6", "1 finished 'denied'", "1 completed"]))
        #expect((task.response as? HTTPURLResponse)?.statusCode == status && task.error == nil)
        let origin = try OriginServer()
        origin.serve("/data", .text("", .status(status, body: "denied")))
        session.dataTask(with: url(origin.url("/data"))).resume()
        try await delegate.heard.wait(for: "the data task") { $0.suffix(2) == ["2 received 'denied'", "2 completed"] }
        session.invalidateAndCancel()
    }

    @Test func `T7: A task whose description is too long fails with an error that says so`() async throws {
        let world = try World()
        let tasks = "POST /v1/process/sessions/org.example.photos/tasks"
        world.service.state.update {
            $0.refusals[tasks] = .invalid(
                "A description has at most 65536 bytes.", pointer: "/tasks/0/request/description")
        }
        let delegate = Recorder()
        let session = world.process().session(delegate)
        let task = session.downloadTask(with: url())
        task.taskDescription = String(repeating: "x", count: Limits.descriptionLength + 1)
        task.resume()
        #expect(try await delegate.heard.are(["1 completed -1103"]))
        #expect(task.error?.localizedDescription == "A description has at most 65536 bytes.")
        session.invalidateAndCancel()
    }

    @Test func `T7: A description too long for a running task is kept only in the app's process`() async throws {
        let world = try World()
        let session = world.process().session(Recorder())
        let task = session.downloadTask(with: url())
        task.resume()
        let long = String(repeating: "x", count: Limits.descriptionLength + 1)
        task.taskDescription = long
        #expect(task.taskDescription == long)
        let longest = String(repeating: "y", count: Limits.descriptionLength)
        task.taskDescription = longest
        try await world.service.state.wait(for: "the change") { $0.changes.count == 1 }
        #expect(world.service.state.read(\.changes).map(\.description) == [longest])
        session.invalidateAndCancel()
    }

    @Test(arguments: [(mode_t(0o022), 0o644), (0o077, 0o600), (0o002, 0o664)])
    func `T7: A delivered file has the mode of files that the app creates`(mask: mode_t, mode: Int) async {
        await #expect(processExitsWith: .success) { [mask = mask as mode_t, mode = mode as Int] in
            let world = try World()
            // The library trusts no socket in a folder that others may write to. With some masks, the folder of the
            // test's world would be one.
            umask(mask)
            let kept = world.directory.path("kept")
            let delegate = Recorder { try? FileManager.default.moveItem(at: $0, to: URL(filePath: kept)) }
            let session = world.process().session(delegate)
            session.downloadTask(with: url()).resume()
            try world.service.end(1, content: "one")
            try await delegate.heard.wait(for: "the end") { $0.last == "1 completed" }
            let attributes = try FileManager.default.attributesOfItem(atPath: kept)
            #expect(attributes[.posixPermissions] as? Int == mode)
            session.invalidateAndCancel()
        }
    }

    @Test func `T7: The idle mode of a configuration can be read and written`() throws {
        let configuration = URLSessionConfiguration.background(withIdentifier: "photos")
        #expect(!configuration.shouldUseExtendedBackgroundIdleMode)
        configuration.shouldUseExtendedBackgroundIdleMode = true
        #expect(configuration.shouldUseExtendedBackgroundIdleMode && configuration.protocolClasses == nil)
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        #expect(copy.shouldUseExtendedBackgroundIdleMode && copy.protocolClasses == nil)
        #expect(configuration.shouldUseExtendedBackgroundIdleMode && configuration.protocolClasses == nil)
    }

    @Test func `FoundationNetworking reads the properties of a configuration in a fixed order`() {
        func completes(_ properties: [FoundationReading.Property], copied: Bool = true) -> [Bool] {
            var reading = FoundationReading()
            if copied { reading.copied() }
            return properties.map { reading.read($0) }
        }
        let order: [FoundationReading.Property] = [.pipelining, .idleMode, .protocolClasses]
        #expect(completes(order) == [false, false, true])
        #expect(completes(order, copied: false) == [false, false, false])
        #expect(completes([.idleMode, .protocolClasses]) == [false, false])
        #expect(completes([.pipelining, .protocolClasses]) == [false, false])
        #expect(completes(order + [.protocolClasses]) == [false, false, true, false])
    }

    @Test func `T7: A session's user agent begins with the app's name and ends with the service's`() throws {
        let world = try World()
        world.process().session(Recorder()).downloadTask(with: url()).resume()
        let fields = try #require(world.service.state.read { $0.settings["org.example.photos"]?.headers })
        let name = ProcessInfo.processInfo.processName
        let agent = try #require(fields.first("User-Agent"))
        #expect(
            agent.hasPrefix("\(name) (unknown version) curl/")
                && agent.hasSuffix(" nightshift/\(NightshiftVersion.current)"))
        let own = try World()
        own.process().session(Recorder()) { $0.httpAdditionalHeaders = ["user-agent": "Own/1"] }
            .downloadTask(with: url()).resume()
        #expect(own.service.state.read { $0.settings["org.example.photos"]?.headers.map(\.value) } == ["Own/1"])
    }

    @Test(arguments: [
        ("photos", String?.none, "photos (unknown version) curl/8"), ("photos", "12.1", "photos/12.1 curl/8"),
        ("My App", "1 (beta)", "My%20App/1%20%28beta%29 curl/8"), ("a\nb", "", "a%0Ab (unknown version) curl/8"),
    ])
    func `A user agent consists of tokens`(name: String, version: String?, expected: String) {
        let agent = UserAgent.value(name: name, version: version, curl: "8")
        #expect(agent == "\(expected) nightshift/\(NightshiftVersion.current)")
    }
}
