import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests in which strace makes system calls of the real service fail, or kills the service at a call. After strace has
/// ended, everything must complete.
@Suite(.enabled(if: Machine.canTrace, "needs strace and the right to trace")) struct FaultTests {
    struct Fault: Sendable, CustomStringConvertible {
        var call: String
        var injection: String
        var description: String { "\(call):\(injection)" }
        /// Whether the service makes the call about once per file, whatever the file's length.
        var isOfFiles: Bool { !call.hasPrefix("pwrite64") && !call.hasPrefix("splice") && call != "openat" }
        /// Whether the service is killed at this call.
        var kills: Bool { injection.hasPrefix("signal=SIGKILL") }
        /// Whether the fault may end the service. libdispatch ends a process that cannot open its threads' files in
        /// /proc. `DescriptorTests` cover the case of too many open files.
        var mayKill: Bool { call == "openat" }
    }

    /// The faults to inject. strace counts calls per thread, from the time at which it attaches.
    static let faults: [Fault] = [
        Fault(call: "pwrite64", injection: "error=EIO:when=1..2"),
        Fault(call: "pwrite64", injection: "error=EIO:when=12..13"),
        Fault(call: "pwrite64", injection: "error=EIO:when=20..90"),
        Fault(call: "pwrite64", injection: "error=ENOSPC:when=5..40"),
        Fault(call: "fdatasync", injection: "error=EIO:when=1"),
        Fault(call: "fdatasync", injection: "error=EIO:when=2..5"),
        Fault(call: "fsync", injection: "error=EIO:when=1"),
        Fault(call: "fsync", injection: "error=EIO:when=2..3"),
        Fault(call: renames, injection: "error=EIO:when=1..2"),
        Fault(call: renames, injection: "error=ENOSPC:when=1"),
        // These faults act like file systems that do not support the first method, or even the second.
        Fault(call: "renameat2", injection: "error=EINVAL:when=1+"),
        Fault(call: "renameat2,link,linkat", injection: "error=EOPNOTSUPP:when=1+"),
        Fault(call: "fallocate", injection: "error=ENOSPC:when=1..2"),
        Fault(call: "fallocate", injection: "error=EOPNOTSUPP:when=1+"),
        Fault(call: "openat", injection: "error=ENOSPC:when=1..3"),
        Fault(call: "openat", injection: "error=EMFILE:when=2..6"),
        Fault(call: "unlink", injection: "error=EIO:when=1"),
        Fault(call: "pwrite64", injection: "signal=SIGKILL:when=3"),
        Fault(call: "pwrite64", injection: "signal=SIGKILL:when=20"),
        Fault(call: "fdatasync", injection: "signal=SIGKILL:when=1"),
        Fault(call: "fdatasync", injection: "signal=SIGKILL:when=2"),
        Fault(call: "fsync", injection: "signal=SIGKILL:when=1"),
        Fault(call: renames, injection: "signal=SIGKILL:when=1"),
        Fault(call: renames, injection: "signal=SIGKILL:when=2"),
        Fault(call: "unlink", injection: "signal=SIGKILL:when=1"),
        // One call reads from the socket, the other writes to the file.
        Fault(call: "splice", injection: "error=EIO:when=3"),
        Fault(call: "splice", injection: "error=ENOSPC:when=4"),
        Fault(call: "splice", injection: "error=EINVAL:when=1+"),
        Fault(call: "splice", injection: "error=EINVAL:when=2"),
        Fault(call: "splice", injection: "signal=SIGKILL:when=8"),
    ]
    private static let renames = "rename,renameat,renameat2"

    @Test(
        "T2 B2: Accepted tasks complete although any system call of the service fails", .timeLimit(.minutes(20)),
        arguments: faults)
    func fault(_ fault: Fault) async throws {
        // A process that prints its own backtrace would meet the fault there again, and would outlive the service.
        let service = try Service(environment: fault.mayKill ? ["SWIFT_BACKTRACE": "enable=no"] : [:])
        let origin = try OriginServer()
        // The service uses splice(2) only for a large body.
        let largest: Int64 = fault.call == "splice" ? 20 << 20 : 6 << 20
        let together: [Content] = [
            .seeded(size: largest, seed: 1), .seeded(size: 3 << 20, seed: 2), .seeded(size: 40_000, seed: 3),
            .seeded(size: 0, seed: 4),
        ]
        // These small files run one by one, so that a thread makes several of these calls. The service syncs and
        // renames files together that end together.
        let oneByOne = fault.isOfFiles ? (5...8).map { Content.seeded(size: 1_000, seed: $0) } : []
        let contents = together + oneByOne
        for (number, content) in contents.enumerated() {
            origin.serve("/\(number)", Resource(content: content, behaviours: [.throttle(bytesPerSecond: 6 << 20)]))
        }
        let directory = service.scratch.path("to")
        try await service.start()
        let tracer = try await service.inject(fault.call, fault.injection)
        let requests = contents.indices.map { number in
            TaskRequest.download(origin.url("/\(number)"), to: directory, named: "\(number)")
        }
        var accepted: [TaskID] = []
        /// The number of tasks that the service may or may not have accepted, because it died before it responded.
        var unanswered = 0
        for batch in [Array(requests.prefix(together.count))] + requests.dropFirst(together.count).map({ [$0] }) {
            guard service.process?.exit == nil, unanswered == 0 else { break }
            if let ids = try await enqueue(batch, service) { accepted += ids } else { unanswered = batch.count }
            try await untilSettled(accepted, service)
        }
        for (number, content) in contents.enumerated() {
            let path = "\(directory)/\(number)"
            guard FileManager.default.fileExists(atPath: path) else { continue }
            #expect(try content.firstMismatch(inFileAt: path) == nil, "\(fault): \(number) is there and not whole")
        }
        if fault.mayKill { service.process?.kill(SIGKILL) }
        if fault.kills || fault.mayKill {
            // strace ends with the last thread. When strace detaches from dying threads, it would wait for ever for the
            // first thread: the kernel reports that thread's end after the ends of the others, for which strace does
            // not wait.
            _ = try await #require(service.process).waitForExit()
        } else {
            tracer.kill(SIGTERM)
        }
        _ = try await tracer.waitForExit()
        let trace = try String(contentsOfFile: service.scratch.path("trace"), encoding: .utf8)
        #expect(trace.contains("(INJECTED)") || service.process?.exit == .signal(SIGKILL), "\(fault): nothing happened")

        // The test restarts a killed service. A running service continues on its own.
        if service.process?.exit != nil { try await service.start() }
        for id in accepted {
            let task = try await service.waitForEnd(id, within: .seconds(60))
            #expect(task.state == .completed, "\(fault): \(String(describing: task))")
        }
        for (number, content) in contents.prefix(accepted.count).enumerated() {
            #expect(try content.firstMismatch(inFileAt: "\(directory)/\(number)") == nil, "\(fault): \(number)")
        }
        let open = Set((accepted.count..<accepted.count + unanswered).map { "\($0)" })
        let names = Set(service.names(in: directory))
        #expect(names.subtracting(open) == Set(accepted.indices.map { "\($0)" }), "\(fault)")
        guard unanswered == 0 else { return }
        // The service removes the last unfinished files after it has reported the task as complete.
        try await eventually("no unfinished files, \(fault)") { service.partialFiles == [] }
    }

    /// Enqueues the requests and returns the ids; nil if the service died before it responded.
    private func enqueue(_ requests: [TaskRequest], _ service: Service) async throws -> [TaskID]? {
        var ids: [TaskID]?
        try await eventually("acceptance, or the service's end", within: .seconds(60)) {
            do {
                ids = try await service.api.enqueue(requests)
                return true
            } catch let problem as Problem {
                // The service refuses the request with an error and stores no part of it.
                #expect(problem.status == 503, "\(problem)")
                return false
            } catch is ServiceAPI.Unreachable {
                return true
            }
        }
        return ids
    }

    /// Waits until every task has ended, the service is gone, or the service waits for a condition.
    private func untilSettled(_ ids: [TaskID], _ service: Service) async throws {
        do {
            try await eventually("all to settle", within: .seconds(60)) {
                guard service.process?.exit == nil else { return true }
                guard let found = try? await service.api.tasks() else { return false }
                let tasks = found.filter { ids.contains($0.id) }
                // While the database cannot be written, a task that has all its bytes waits for it as well.
                let waitsForDisk = tasks.contains { $0.wait?.reason == .diskSpace }
                return tasks.allSatisfy {
                    $0.state.isTerminal || waitsForDisk && $0.state == .finishing
                        || $0.state == .waiting && ($0.lastError != nil || $0.wait?.reason == .diskSpace)
                }
            }
        } catch is WaitedTooLong {
            let tasks = try await service.api.tasks().map {
                "\($0.id) \($0.state) \($0.wait.map { "\($0)" } ?? "") \($0.lastError?.message ?? "")"
            }
            throw Unsettled(description: (tasks + [String(service.log.suffix(3_000))]).joined(separator: "\n"))
        }
    }

    /// The error of tasks that were still active when everything should have been idle.
    private struct Unsettled: Error, CustomStringConvertible {
        let description: String
    }
}
