import Foundation
import NightshiftAPI
import NightshiftCurl
import TestSupport
import Testing

/// Tests of one service per home, which is private to the user, refuses data that it cannot read, and exits when asked.
@Suite struct ServiceTests {
    @Test("B1: A second service of the same home refuses to start and names the running one")
    func secondInstance() async throws {
        let service = try Service()
        try await service.start()
        let second = try await ChildProcess.run(
            Programs.daemon, environment: ["NIGHTSHIFT_HOME": service.home], within: .seconds(20))
        #expect(second.code == 4)
        #expect(second.errors.contains("already runs"))
        #expect(second.errors.contains("process \(try await service.api.status().processID)"))
        // The first service keeps its socket and its lock.
        #expect(try await service.api.status().processID == service.process?.pid)
        try await service.kill()
        try await service.start()
    }

    @Test("B1: A service that systemd starts takes over from one that runs outside of systemd, and from its transfers")
    func handover() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        try await service.start()
        let first = try #require(service.process)
        let (content, sent) = (Content.seeded(size: 6 << 20, seed: 1), Int64(2 << 20))
        origin.serve("/file", Resource(content: content, behaviours: [.holdAfter(sent, gate).times(1)]))
        var request = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"))
        request.connections = 1
        let id = try await service.api.enqueue(request)
        try await service.wait(id, for: "its bytes") { $0.countOfBytesReceived == sent }
        // systemd sets this variable to the process id of the program that it starts. Children inherit the variable.
        try await service.start(under: ["sh", "-c", "SYSTEMD_EXEC_PID=$$ exec \"$0\""])
        #expect(try await first.waitForExit(within: .seconds(60)) == .code(0))
        #expect(try await service.waitForEnd(id).state == .completed)
        #expect(origin.bodyBytesSent(for: "/file") == content.size)
        let third = try await ChildProcess.run(
            Programs.daemon, environment: ["NIGHTSHIFT_HOME": service.home, "SYSTEMD_EXEC_PID": "1"],
            within: .seconds(20))
        #expect(third.code == 4, "\(third)")
    }

    @Test func `B1: The data that a client stores with a transfer survive kill -9, and can be changed`() async throws {
        let service = try Service()
        try await service.start()
        var request = TaskRequest.download("http://127.0.0.1:1/file", to: service.scratch.path("to"))
        request.suspended = true
        request.clientData = "one"
        let id = try await service.api.enqueue(request)
        try await service.kill()
        try await service.start()
        #expect(try await service.api.task(id).clientData == "one")
        let change = try JSON.encode(TaskChange(clientData: "two"))
        try await service.api.send("PATCH", "/v1/tasks/\(id)", change)
        #expect(try await service.api.task(id).clientData == "two")
        #expect(try await service.api.tasks().map(\.clientData) == ["two"])

        // The change is seen while the transfer runs, and at its end.
        let (origin, gate) = (try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        let content = Content.seeded(size: 6 << 20, seed: 1)
        origin.serve("/file", Resource(content: content, behaviours: [.holdAfter(2 << 20, gate).times(1)]))
        var running = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"))
        running.connections = 1
        let second = try await service.api.enqueue(running)
        try await service.wait(second, for: "bytes") { $0.countOfBytesReceived == 2 << 20 }
        try await service.api.send("PATCH", "/v1/tasks/\(second)", change)
        #expect(try await service.api.task(second).clientData == "two")
        gate.open()
        #expect(try await service.waitForEnd(second).clientData == "two")
    }

    @Test("B1: The program of the command line is the service if its name is nightshiftd")
    func oneProgram() async throws {
        let service = try Service()
        let program = service.scratch.path("nightshiftd")
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: Programs.commandLine)
        let process = try service.spawn(program)
        try await eventually("an answer of the service", within: .seconds(60)) {
            (try? await service.api.status().processID) == process.pid
        }
        let help = try await ChildProcess.run(program, ["--help"], within: .seconds(20))
        #expect(help.code == 0 && help.output.contains("USAGE: nightshiftd"), "\(help)")
        #expect(try await service.stop() == .code(0))
    }

    @Test("B1: The service works under the filters of its unit, where any other system call would kill it")
    func confinement() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let program = Programs.source + "/Gateway/Tests/Clients/confined.py"
        let unit = Programs.source + "/packaging/systemd/nightshiftd.service"
        try await service.start(under: ["python3", program, unit])
        let content = Content.seeded(size: 12 << 20, seed: 3)
        origin.serve("/file", Resource(content: content))
        let id = try await service.api.enqueue(.download(origin.url("/file"), to: service.scratch.path("to")))
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed)
        let file = try #require(task.file)
        #expect(try content.firstMismatch(inFileAt: file) == nil)
        let put = try await service.cli(["put", "--detach", file, origin.url("/inbox").description])
        #expect(put.code == 0, "\(put)")
        for command in [
            ["pause", "2"], ["status"], ["device"], ["why", "1"], ["journal"], ["doctor"], ["limit", "1M"],
        ] {
            let outcome = try await service.cli(command)
            #expect(outcome.code != 3, "\(command): \(outcome)")
        }
        #expect(try await service.api.status().processID > 0, "\(service.log)")
        #expect(try await service.stop() == .code(0))
    }

    @Test("B1: The check reports why the service could not start, and changes nothing")
    func check() async throws {
        let service = try Service()
        try await service.start()
        try await service.stop()
        let good = try await ChildProcess.run(
            Programs.daemon, ["check"], environment: ["NIGHTSHIFT_HOME": service.home], within: .seconds(20))
        #expect(good.code == 0 && good.errors.isEmpty, "\(good)")
        let newer = "INSERT INTO grdb_migrations VALUES ('9999 of the future')"
        #expect(try await ChildProcess.run("sqlite3", [service.paths.database.path, newer]).code == 0)
        let before = try Data(contentsOf: service.paths.database)
        let bad = try await ChildProcess.run(
            Programs.daemon, ["check"], environment: ["NIGHTSHIFT_HOME": service.home], within: .seconds(20))
        #expect(bad.code == 6)
        #expect(bad.errors.contains("written by a newer version"))
        #expect(try Data(contentsOf: service.paths.database) == before)
        let doctor = try await service.cli(["doctor"])
        #expect(doctor.code == 1)
        #expect(doctor.output.contains("cannot start: The database was written by a newer version"), "\(doctor)")
    }

    @Test("B1: Only the user can access the socket and the directories")
    func modes() async throws {
        let service = try Service()
        try await service.start()
        #expect(try mode(service.paths.socket.path) == 0o600)
        for directory in [service.paths.state, service.paths.runtime, service.paths.partials, service.paths.files] {
            #expect(try mode(directory.path) == 0o700, "\(directory.path)")
        }
        #expect(try mode(service.paths.database.path) & 0o077 == 0)
    }

    @Test(
        "B1: The service refuses another user even if that user can reach the socket",
        .enabled(if: Machine.isRoot, "only root can be somebody else"))
    func otherUser() async throws {
        let service = try Service()
        try await service.start()
        // File modes would already prevent access. The test opens them, so that only the check of the peer remains.
        for path in [service.scratch.path, service.home, service.paths.runtime.path] { chmod(path, 0o755) }
        chmod(service.paths.socket.path, 0o666)
        let curl = ["-sS", "-m", "10", "--unix-socket", service.paths.socket.path, "http://localhost/v1/status"]
        let own = try await ChildProcess.run("curl", curl)
        #expect(own.output.contains("processID"))
        let other = try await ChildProcess.run(
            "setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", "--", "curl"] + curl)
        #expect(!other.output.contains("processID"))
        #expect(other.code != 0 || other.output.contains("/problems/forbidden"), "\(other)")
    }

    @Test("B1: SIGTERM ends a service with endless transfers, and the next service continues them")
    func termination() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        try await service.start()
        let (content, sent) = (Content.seeded(size: 6 << 20, seed: 1), Int64(2 << 20))
        var ids: [TaskID] = []
        for number in 0..<4 {
            // The service receives everything that was sent before it ends, so bytes that are sent again show what it
            // lost.
            origin.serve("/\(number)", Resource(content: content, behaviours: [.holdAfter(sent, gate).times(1)]))
            var request = TaskRequest.download(origin.url("/\(number)"), to: service.scratch.path("to\(number)"))
            // A second connection would deliver the bytes that the first connection withholds.
            request.connections = 1
            ids.append(try await service.api.enqueue(request))
        }
        for id in ids {
            try await service.wait(id, for: "its bytes") { $0.countOfBytesReceived == sent }
        }
        let events = try await service.api.events()
        #expect(try await service.stop() == .code(0), "It waits for no transfer.")
        // The client's stream ends instead of hanging.
        try await drain(events)
        try await service.start()
        for id in ids {
            let task = try await service.waitForEnd(id)
            #expect(task.state == .completed)
            #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        }
        for number in 0..<4 {
            #expect(origin.bodyBytesSent(for: "/\(number)") == content.size, "it went on where it was")
        }
    }

    @Test("B1: The API can also stop the service")
    func shutdownRequest() async throws {
        let service = try Service()
        try await service.start()
        try await service.api.send("POST", "/v1/shutdown")
        #expect(try await service.process?.waitForExit(within: .seconds(20)) == .code(0))
    }

    @Test("B1: The service notifies systemd when it is ready and when it stops")
    func notification() async throws {
        let service = try Service()
        let path = service.scratch.path("notify")
        let receiver = try DatagramReceiver(path: path)
        try service.spawn(environment: ["NOTIFY_SOCKET": path])
        #expect(try receiver.receive(within: 240).contains("READY=1"))
        #expect(try await service.api.status().processID == service.process?.pid)
        #expect(try await service.stop() == .code(0))
        #expect(try receiver.receive(within: 240).contains("STOPPING=1"))
    }

    @Test("B1: The service uses a socket that systemd has opened, and keeps it when it exits")
    func socketActivation() async throws {
        let service = try Service()
        let path = service.scratch.path("activated.sock")
        // systemd uses this setup: the listening socket is descriptor 3, and LISTEN_PID is the process itself.
        let launcher = """
            import os, socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o600); s.listen(64)
            os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
            os.execv(sys.argv[2], [sys.argv[2]])
            """
        let script = try service.scratch.write(launcher, to: "activate.py")
        let process = try service.spawn(under: ["python3", script, path])
        let api = ServiceAPI(socket: path)
        try await eventually("an answer on the given socket", within: .seconds(30)) {
            (try? await api.status())?.processID == process.pid
        }
        #expect(try await service.stop() == .code(0))
        #expect(FileManager.default.fileExists(atPath: path))
    }

    // MARK: -

    private func mode(_ path: String) throws -> UInt32 {
        var information = stat()
        guard stat(path, &information) == 0 else { throw SystemError("stat \(path)") }
        return information.st_mode & 0o777
    }

    private func drain(_ events: CurlStream) async throws {
        do {
            while try await events.next() != nil {}
        } catch is CurlEnd {
            // The stream may end with an error, but it must not leave the client waiting.
        }
    }
}

/// A datagram socket that plays the role of systemd's notification socket.
private final class DatagramReceiver: Sendable {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SystemError("bind \(path)") }
    }

    deinit {
        close(descriptor)
    }

    /// Blocks until the next message arrives.
    func receive(within seconds: Int) throws -> String {
        var bound = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &bound, socklen_t(MemoryLayout<timeval>.size))
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw SystemError("recv") }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
