import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the system's log contains only messages that somebody may want to read.
@Suite(.timeLimit(.minutes(20))) struct QuietJournalTests {
    private static let canBeSomebody =
        Machine.isRoot && Machine.canTrace && Programs.has("setpriv")
        && FileManager.default.isExecutableFile(atPath: Programs.daemon)

    /// libdispatch requests nice values for some of its threads, which a user's service may not set, and logs each refusal.
    @Test(.enabled(if: canBeSomebody, "needs root, strace and setpriv"))
    func `B1: A user's service does not write about its threads to the system's log`() async throws {
        let service = try Service()
        let user = 65_534
        try FileManager.default.createDirectory(atPath: service.home, withIntermediateDirectories: true)
        // The user may lack access to the build folder. Another process copies the program, because a program cannot be
        // executed while a child of this process still has it open for writing.
        let program = service.scratch.path("nightshiftd")
        #expect(try await ChildProcess.run("cp", [Programs.daemon, program]).code == 0)
        for path in [service.scratch.path, service.home] {
            #expect(chown(path, uid_t(user), gid_t(user)) == 0)
        }
        let trace = service.scratch.path("trace")
        // strace runs in its own process, so that the stopped process is the service.
        try service.spawn(
            program,
            under: [
                "setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--", "strace", "--daemonize", "-f",
                "-e", "trace=setpriority,connect,sendto", "-o", trace,
            ])
        defer { service.process?.kill(SIGKILL) }
        func calls() -> [Substring] {
            ((try? String(contentsOfFile: trace, encoding: .utf8)) ?? "").split(separator: "\n")
        }
        try await eventually("its socket") {
            if service.process?.exit != nil { throw NotPossibleHere(description: service.log) }
            return FileManager.default.fileExists(atPath: service.paths.socket.path)
        }
        // The service connects to the system bus, if there is one or not, so the trace works.
        try await eventually("a traced call") { calls().contains { $0.contains("connect(") } }
        #expect(try await service.stop() == .code(0))
        #expect(calls().filter { $0.contains("/dev/log") } == [])
    }
}
