import Dispatch
import Foundation
import Glibc
import Synchronization

/// A started program, whose resource usage is recorded when it ends.
struct ChildProcess {
    let processID: pid_t

    /// The resource usage of a program from start to end.
    struct Usage {
        var exitStatus: Int32
        var wall: Double
        /// The user and system time in seconds.
        var cpu: Double
        /// The peak of the resident memory in bytes.
        var peakMemory: Int64
    }

    /// Starts `arguments[0]`, looked up in PATH, with its output appended to the file `log`.
    init(_ arguments: [String], environment: [String: String] = [:], log: String) throws {
        var merged = ProcessInfo.processInfo.environment
        merged.merge(environment) { $1 }
        let words = arguments.map { strdup($0) } + [nil]
        let variables = merged.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for string in words + variables { free(string) } }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)

        var identifier: pid_t = 0
        let error = posix_spawnp(&identifier, arguments[0], &actions, nil, words, variables)
        guard error == 0 else { throw BenchError("cannot start \(arguments[0]): \(String(cString: strerror(error)))") }
        processID = identifier
    }

    /// Waits until the program ends. Kills the program after `limit` seconds.
    func wait(limit: Double, since start: Instant) throws -> Usage {
        let identifier = processID
        let watchdog = DispatchWorkItem { kill(identifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: watchdog)
        defer { watchdog.cancel() }
        // The peak of wait4 includes this process before exec. The program's own memory is therefore sampled instead.
        let peak = PeakMemory(of: identifier)
        defer { peak.stop() }
        var status: Int32 = 0
        var usage = rusage()
        while wait4(identifier, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw BenchError("wait4: \(String(cString: strerror(errno)))") }
        }
        return Usage(
            exitStatus: status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f), wall: start.elapsed,
            cpu: usage.ru_utime.seconds + usage.ru_stime.seconds, peakMemory: peak.bytes)
    }

    /// Runs a program and waits for its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], log: String, limit: Double
    ) throws -> Usage {
        let start = Instant()
        return try ChildProcess(arguments, environment: environment, log: log).wait(limit: limit, since: start)
    }

    /// Runs a program, and throws if it fails.
    static func require(_ arguments: [String], environment: [String: String] = [:], log: String, limit: Double) throws {
        let usage = try run(arguments, environment: environment, log: log, limit: limit)
        guard usage.exitStatus == 0 else {
            throw BenchError("\(arguments.joined(separator: " ")) ended with \(usage.exitStatus); see \(log)")
        }
    }
}

/// The peak memory of a process, sampled a hundred times per second while it lives.
private struct PeakMemory {
    private let highest = Highest()
    private let timer: any DispatchSourceTimer

    init(of processID: pid_t) {
        timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now(), repeating: .milliseconds(10))
        timer.setEventHandler { [highest] in
            guard let peak = try? ProcessView(processID: processID).peakMemory() else { return }
            highest.value.withLock { $0 = max($0, peak) }
        }
        timer.resume()
    }

    var bytes: Int64 { highest.value.withLock { $0 } }

    func stop() {
        timer.cancel()
    }

    /// The value shared by the timer's thread and the waiting thread.
    private final class Highest: Sendable {
        let value = Mutex<Int64>(0)
    }
}

/// A time of the monotonic clock.
struct Instant {
    private let nanoseconds = DispatchTime.now().uptimeNanoseconds

    /// The number of seconds since this time.
    var elapsed: Double { Double(DispatchTime.now().uptimeNanoseconds - nanoseconds) / 1e9 }
}

/// The reason for which the benchmark cannot continue.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}
