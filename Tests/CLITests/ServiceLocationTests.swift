import CLI
import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Tests that clients find a running service by its lock, whatever their environment is.
@Suite struct ServiceLocationTests {
    private let directory: TemporaryDirectory
    private let location: ServiceLocation
    private let usual: String

    init() throws {
        directory = try TemporaryDirectory()
        let paths = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": directory.path], homeDirectory: URL(filePath: "/nonexistent"))
        location = ServiceLocation(paths: paths)
        usual = paths.socket.path(percentEncoded: false)
        try FileManager.default.createDirectory(at: paths.state, withIntermediateDirectories: true)
    }

    /// Writes the lock file and takes the lock.
    private func hold(_ text: String, mode: mode_t = 0o600) throws -> FileHandle {
        let path = try directory.write(text, to: "state/lock")
        chmod(path, mode)
        let file = try #require(FileHandle(forReadingAtPath: path))
        try #require(flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        return file
    }

    @Test func `B1: The lock file of a running service names its socket`() throws {
        let lock = try hold(LockRecord(processID: 17, socket: "/elsewhere/nightshift.sock").text)
        #expect(location.holder == LockRecord(processID: 17, socket: "/elsewhere/nightshift.sock"))
        #expect(location.socket == "/elsewhere/nightshift.sock")
        try lock.close()
    }

    @Test func `B1: The client ignores a lock file that no process has locked`() throws {
        #expect(location.holder == nil && location.socket == usual)
        try hold(LockRecord(processID: 17, socket: "/elsewhere/nightshift.sock").text).close()
        #expect(location.holder == nil && location.socket == usual)
    }

    @Test func `B1: The client ignores a lock file that other users could have written`() throws {
        let record = LockRecord(processID: 17, socket: "/elsewhere/nightshift.sock").text
        let open = try hold(record, mode: 0o666)
        #expect(location.holder == nil)
        try open.close()
        let lock = try hold(record)
        #expect(location.holder != nil)
        try FileManager.default.moveItem(atPath: directory.path("state/lock"), toPath: directory.path("lock"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("state/lock"), withDestinationPath: directory.path("lock"))
        #expect(location.holder == nil)
        try lock.close()
    }

    @Test func `B1: The client finds an older service, whose lock names no socket, at the default path`() throws {
        let lock = try hold("17\n")
        #expect(location.holder == LockRecord(processID: 17, socket: nil) && location.socket == usual)
        try lock.close()
    }

    @Test(
        arguments: [
            ("", nil), ("\n/a\n", nil), ("x\n/a\n", nil), ("-1\n/a\n", nil), ("0\n", nil),
            ("5", LockRecord(processID: 5, socket: nil)), ("5\n/run/n", LockRecord(processID: 5, socket: nil)),
            ("5\nrelative\n", LockRecord(processID: 5, socket: nil)),
            ("5\n/a b\n", LockRecord(processID: 5, socket: "/a b")),
        ] as [(String, LockRecord?)])
    func `B1: The client does not use an invalid or incomplete lock file`(text: String, record: LockRecord?) {
        #expect(LockRecord(parsing: text) == record)
    }

    @Test func `B1: The service does not write a socket path with a line break into its lock file`() {
        #expect(LockRecord(processID: 5, socket: "/a\n/b").text == "5\n")
    }

    @Test func `B1: status and doctor report a socket path that is too long`() async throws {
        let world = try World()
        let home = ["NIGHTSHIFT_HOME": world.path + "/" + String(repeating: "x", count: 120)]
        #expect(await world.run("status", environment: home) == .unreachable)
        #expect(world.errors.text.contains("107 bytes"))
        _ = await world.run("doctor", environment: home)
        #expect(world.output.text.contains("more than the kernel allows (107)"))
        #expect(world.output.text.contains("Set XDG_RUNTIME_DIR or NIGHTSHIFT_HOME"))
    }
}
