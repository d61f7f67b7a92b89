import Foundation
import Nightshift
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Tests of the remaining time, which the app reads from the service's clock file without a request (row L2).
@Suite struct BackgroundTimeTests {
    private static func now() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    private static func bytes(_ clock: BackgroundClock) -> [UInt8] {
        withUnsafeBytes(of: clock.word) { Array($0) }
    }

    @Test func `L2: The remaining time is correct to 50 ms, and reading it sends no request`() async throws {
        let world = try World()
        let file = try world.directory.write(Self.bytes(.counting(until: Self.now() + 30_000_000_000)), to: "clock")
        world.service.state.update { $0.hello.clock = file }
        let application = Application(connection: world.process().connection)
        _ = application.beginBackgroundTask(withName: "a")
        let asked = world.service.state.read { $0.log.count }
        let end = Self.now() + 30_000_000_000
        let descriptor = open(file, O_WRONLY)
        defer { close(descriptor) }
        func write(_ clock: BackgroundClock) { pwrite(descriptor, Self.bytes(clock), BackgroundClock.size, 0) }
        write(.counting(until: end))
        for _ in 0..<1_000 {
            let before = Self.now()
            let remaining = application.backgroundTimeRemaining
            let after = Self.now()
            #expect(remaining <= Double(end - before) / 1e9 + 0.05 && remaining >= Double(end - after) / 1e9 - 0.05)
        }
        write(.standing(7_500_000_000))
        #expect(application.backgroundTimeRemaining == 7.5)
        write(.counting(until: Self.now() - 1))
        #expect(application.backgroundTimeRemaining == 0)
        write(.unlimited)
        #expect(application.backgroundTimeRemaining == .greatestFiniteMagnitude)
        #expect(world.service.state.read { $0.log.count } == asked)
    }

    @Test func `L2: After a restart of the service, the library reads the new clock file`() async throws {
        let world = try World()
        let file = try world.directory.write(Self.bytes(.standing(1_000_000_000)), to: "clock")
        world.service.state.update { $0.hello.clock = file }
        let application = Application(connection: world.process().connection)
        _ = application.beginBackgroundTask(withName: "a")
        #expect(application.backgroundTimeRemaining == 1)
        world.service.stop()
        // The service replaces the file, so a process that has mapped the old file still reads that file.
        let new = try world.directory.write(Self.bytes(.standing(2_000_000_000)), to: "new")
        try #require(rename(new, file) == 0)
        #expect(application.backgroundTimeRemaining == 1)
        try world.service.start()
        try await eventually("the new file is read") { application.backgroundTimeRemaining == 2 }
        // A service that does not limit the time names no file.
        world.service.state.update { $0.hello.clock = nil }
        world.service.breakStreams()
        try await eventually("the file is let go of") {
            application.backgroundTimeRemaining == .greatestFiniteMagnitude
        }
    }

    @Test @MainActor func `L2: An app launched in the background can read its time during its launch callback`()
        async throws
    {
        let world = try World()
        let file = try world.directory.write(Self.bytes(.standing(9_000_000_000)), to: "clock")
        world.service.state.update { $0.hello.clock = file }
        let application = Application(connection: world.process().connection)
        application.launch(environment: ["NIGHTSHIFT_APP": "org.example.app", "NIGHTSHIFT_LAUNCH": "background"])
        #expect(application.backgroundTimeRemaining == 9)
    }

    @Test func `L2: Without a clock file, the time is unlimited`() throws {
        let world = try World()
        let application = Application(connection: world.process().connection)
        #expect(application.backgroundTimeRemaining == .greatestFiniteMagnitude)
        #expect(BackgroundClockFile(path: world.directory.path("missing")) == nil)
        #expect(BackgroundClockFile(path: try world.directory.write([1, 2, 3], to: "short")) == nil)
    }
}
