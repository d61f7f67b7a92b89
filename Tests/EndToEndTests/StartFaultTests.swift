import Foundation
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

/// Tests that a task that crashes the service does not do so for ever, and that all other tasks continue (mission row
/// B1).
@Suite(.enabled(if: Programs.has("cc") || Programs.has("clang"), "needs a compiler for C"))
struct StartFaultTests {
    /// A function that crashes the process with a trap whenever the process connects to one port. The loader uses it
    /// instead of the C library's function.
    private static let trap = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <netinet/in.h>
        #include <stdlib.h>
        #include <sys/socket.h>
        static int port;
        // At the start: the service clears variables that it does not know.
        __attribute__((constructor)) static void read_port(void) {
            const char *text = getenv("TRAP_AT_PORT");
            port = text ? atoi(text) : 0;
        }
        int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
            if (port && address->sa_family == AF_INET
                && ntohs(((const struct sockaddr_in *)address)->sin_port) == port)
                __builtin_trap();
            int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
            return real(descriptor, address, length);
        }
        """

    private func service(trappingAt port: UInt16) async throws -> Service {
        let directory = try TemporaryDirectory(in: "/tmp")
        let source = try directory.write(Self.trap, to: "trap.c")
        let library = directory.path("trap.so")
        let compiler = Programs.has("cc") ? "cc" : "clang"
        let built = try await ChildProcess.run(
            compiler, ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], within: .seconds(60))
        try #require(built.code == 0, "\(built.errors)")
        let service = try Service(environment: ["LD_PRELOAD": library, "TRAP_AT_PORT": "\(port)"])
        libraries.append(directory)
        return service
    }

    private let libraries = Kept()

    @Test("B1: The service blocks only the download that has crashed it twice")
    func download() async throws {
        try await story { .download("http://127.0.0.1:\($0)/file", to: $1.scratch.path("bad")) }
    }

    @Test("B1: The service blocks only the upload that has crashed it twice")
    func upload() async throws {
        try await story { port, service in
            try service.scratch.write("some bytes", to: "source")
            return .upload(service.scratch.path("source"), to: "http://127.0.0.1:\(port)/up")
        }
    }

    private func story(_ bad: (UInt16, Service) throws -> TaskRequest) async throws {
        let (origin, trap) = (try OriginServer(), try OriginServer())
        let content = Content.seeded(size: 4 << 20, seed: 5)
        let service = try await service(trappingAt: trap.port)
        try await service.start()
        var good: [TaskID] = []
        for number in 0..<6 {
            origin.serve("/\(number)", Resource(content: content, behaviours: [.throttle(bytesPerSecond: 2 << 20)]))
            good.append(
                try await service.api.enqueue(
                    .download(origin.url("/\(number)"), to: service.scratch.path("to"), named: "\(number)")))
        }
        // The service confirms acceptance before the task starts, or not at all.
        let request = try bad(trap.port, service)
        let guilty = TaskID(Int64(good.count + 1))
        _ = try? await service.api.enqueue(request)
        var faults = 0
        var lastLife: ChildProcess?
        for _ in 0..<6 {
            let process = try #require(service.process)
            lastLife = process
            try await eventually("a fault, or that it is held back", within: .seconds(60)) {
                if process.exit != nil { return true }
                return (try? await service.api.task(guilty))?.wait?.reason == .serviceFault
            }
            guard process.exit != nil else { break }
            faults += 1
            try service.spawn()
        }
        #expect(faults == 2)
        #expect(lastLife?.exit == nil)
        let why = try await service.api.why(guilty)
        #expect(why.task.state == .suspended)
        #expect(why.task.wait?.reason == .serviceFault)
        #expect(why.endedBy?.contains("resume") == true)
        for id in good {
            let task = try await service.waitForEnd(id)
            #expect(task.state == .completed)
            #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        }
        let doctor = try await service.cli(["doctor"])
        #expect(doctor.output.contains("crashed while it ran transfer \(guilty)"), "\(doctor.output)")
        // The service blocks the task even after an orderly stop or a kill.
        try await service.stop()
        try await service.start()
        try await service.kill()
        try await service.start()
        #expect(try await service.api.task(guilty).state == .suspended)
        // You may retry the task. This time one crash is enough to block it.
        _ = try? await service.api.send("POST", "/v1/tasks/\(guilty)/resume")
        let process = try #require(service.process)
        try await eventually("a third fault", within: .seconds(60)) { process.exit != nil }
        try await service.start()
        try await service.wait(guilty, for: "being held back again") { $0.state == .suspended }
    }

    @Test("B1: Any number of kills by other processes does not block a task")
    func kills() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(), Gate())
        defer { gate.open() }
        origin.serve("/file", Resource(content: .seeded(size: 1 << 20, seed: 1), behaviours: [.holdAfter(0, gate)]))
        try await service.start()
        let id = try await service.api.enqueue(.download(origin.url("/file"), to: service.scratch.path("to")))
        for _ in 0..<5 {
            try await service.wait(id, for: "a start") { $0.state == .running }
            try await service.kill()
            try await service.start()
        }
        gate.open()
        #expect(try await service.waitForEnd(id).state == .completed)
    }

    @Test("B1: An upload under a global rate limit proceeds at that rate without a crash")
    func limitedUpload() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/up", .text("thanks"))
        try await service.start()
        #expect(try await service.cli(["limit", "2M"]).code == 0)
        try service.scratch.write([UInt8](repeating: 7, count: 3 << 20), to: "source")
        let put = try await service.cli(
            ["put", service.scratch.path("source"), origin.url("/up")], within: .seconds(90))
        #expect(put.code == 0, "\(put.errors)")
        #expect(service.process?.exit == nil)
        let body = try #require(origin.requests.last { $0.method == "PUT" || $0.method == "POST" }).body
        #expect(body.length == 3 << 20)
        let task = try #require(try await service.api.tasks().last)
        let needed = (task.endedAt ?? .now).timeIntervalSince(task.createdAt)
        // The value is three MiB at two MiB a second, minus the burst of a quarter of a second.
        #expect(needed > 1, "\(needed)")
    }
}

/// Keeps directories alive until the test ends.
private final class Kept: Sendable {
    private let directories = Mutex<[TemporaryDirectory]>([])

    func append(_ directory: TemporaryDirectory) { directories.withLock { $0.append(directory) } }
}
