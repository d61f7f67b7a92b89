import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the library sends nothing to a socket that another user owns.
@Suite struct SocketOwnerTests {
    @Test(.enabled(if: geteuid() == 0, "only root can be two users"), .timeLimit(.minutes(20)))
    func `An app sends no request to a socket that another user has put in place`() async throws {
        let directory = try TemporaryDirectory()
        #expect(chmod(directory.path, 0o755) == 0)
        let folder = directory.path("run")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(chmod(folder, 0o777) == 0)
        let planted = try await PlantedSocket(folder + "/nightshift.sock", log: directory.path("log"))
        let process = AppProcess(home: directory.path)
        var request = URLRequest(url: url())
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        let session = process.session(Recorder())
        let task = session.downloadTask(with: request)
        let isResumed = Watched(false)
        Thread.detachNewThread {
            task.resume()
            isResumed.update { $0 = true }
        }
        // The library checks repeatedly, and each check makes a connection.
        try await eventually("looks") { planted.received.count >= 3 }
        #expect(planted.received.allSatisfy { $0 == 0 }, "\(planted.received)")
        process.die()
        try await isResumed.wait(for: "resume()") { $0 }
    }
}
