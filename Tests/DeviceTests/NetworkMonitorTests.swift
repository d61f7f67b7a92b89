import Device
import Foundation
import Glibc
import Testing

/// The kernel's links and addresses, in a network namespace of a process of its own.
@Suite(.serialized) struct NetworkMonitorTests {
    @Test(
        .timeLimit(.minutes(5)),
        .enabled(if: NetworkNamespace.canBeMade, "a network namespace needs CAP_SYS_ADMIN and ip(8)"))
    func onlyAnAddressThatReachesBeyondItsLinkIsANetwork() async {
        await #expect(processExitsWith: .success) {
            try NetworkNamespace.enter()
            #expect(!NetworkMonitor.isAvailable())
            try NetworkNamespace.ip("link", "set", "lo", "up")
            #expect(!NetworkMonitor.isAvailable())
            try NetworkNamespace.ip("link", "add", "one", "type", "veth", "peer", "name", "two")
            try NetworkNamespace.ip("addr", "add", "169.254.7.7/16", "dev", "one")
            try NetworkNamespace.ip("link", "set", "one", "up")
            try NetworkNamespace.ip("link", "set", "two", "up")
            #expect(!NetworkMonitor.isAvailable(), "link-local")
            try NetworkNamespace.ip("addr", "add", "192.0.2.1/24", "dev", "one")
            #expect(NetworkMonitor.isAvailable())
            try NetworkNamespace.ip("link", "set", "two", "down")
            #expect(!NetworkMonitor.isAvailable(), "no carrier")
            try NetworkNamespace.ip("link", "set", "two", "up")
            #expect(NetworkMonitor.isAvailable())
            try NetworkNamespace.ip("addr", "del", "192.0.2.1/24", "dev", "one")
            #expect(!NetworkMonitor.isAvailable())
            try NetworkNamespace.ip("addr", "add", "2001:db8::1/64", "dev", "one", "nodad")
            #expect(NetworkMonitor.isAvailable())
        }
    }

    @Test(
        .timeLimit(.minutes(5)),
        .enabled(if: NetworkNamespace.canBeMade, "a network namespace needs CAP_SYS_ADMIN and ip(8)"))
    func everyChangeIsNoticedAndNothingElse() async {
        await #expect(processExitsWith: .success) {
            try NetworkNamespace.enter()
            let changes = NetworkMonitor.changes()
            let heard = DispatchSemaphore(value: 0)
            let listening = Task {
                for await _ in changes { heard.signal() }
            }
            // From here on without a suspension: only this thread is in the namespace.
            func isHeard() -> Bool { heard.wait(timeout: .now() + 10) == .success }
            func drain() { while heard.wait(timeout: .now() + 0.3) == .success {} }
            try NetworkNamespace.ip("link", "add", "one", "type", "veth", "peer", "name", "two")
            #expect(isHeard(), "a link")
            drain()
            try NetworkNamespace.ip("link", "set", "one", "up")
            #expect(isHeard(), "a link that is up")
            drain()
            try NetworkNamespace.ip("addr", "add", "192.0.2.1/24", "dev", "one")
            #expect(isHeard(), "an address")
            drain()
            #expect(heard.wait(timeout: .now() + 0.5) == .timedOut, "nothing has changed")
            listening.cancel()
        }
    }

    @Test(.timeLimit(.minutes(5))) func nobodyWakesWhileNothingHappens() async {
        await #expect(processExitsWith: .success) {
            let others = Set(ThreadSwitches.read().keys)
            let clock = SystemClock().wallClockChanges()
            if NetworkNamespace.canBeMade { try NetworkNamespace.enter() }
            let network = NetworkMonitor.changes()
            usleep(300_000)
            let before = ThreadSwitches.read().filter { !others.contains($0.key) }
            usleep(1_500_000)
            let after = ThreadSwitches.read().filter { !others.contains($0.key) }
            #expect(before.count >= 2, "One thread listens for the clock and one for the network.")
            #expect(before == after)
            withExtendedLifetime((clock, network)) {}
        }
    }
}

/// A network namespace for the calling thread.
enum NetworkNamespace {
    struct Failure: Error {
        var text: String
    }

    static var canBeMade: Bool { geteuid() == 0 && program != nil }

    private static let program: String? = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"].first {
        access($0, X_OK) == 0
    }

    static func enter() throws {
        // glibc declares it only for those who define _GNU_SOURCE.
        guard let symbol = dlsym(nil, "unshare") else { throw Failure(text: "There is no unshare(2).") }
        let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
        // CLONE_NEWNET, linux/sched.h.
        guard unshare(0x4000_0000) == 0 else { throw Failure(text: String(cString: strerror(errno))) }
    }

    /// Runs ip(8) in the calling thread's namespace.
    static func ip(_ arguments: String...) throws {
        guard let program else { throw Failure(text: "There is no ip(8).") }
        var child: pid_t = 0
        let copies = ([program] + arguments).map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let result = posix_spawn(&child, program, nil, nil, copies + [nil], environ)
        var status: Int32 = 0
        guard result == 0, waitpid(child, &status, 0) == child, status == 0 else {
            throw Failure(text: "ip \(arguments.joined(separator: " ")) failed.")
        }
    }
}

/// How often the kernel has let each thread of this process run.
enum ThreadSwitches {
    static func read() -> [String: String] {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        var switches: [String: String] = [:]
        for number in numbers {
            let status = try? String(contentsOfFile: "/proc/self/task/\(number)/status", encoding: .utf8)
            let lines = status?.split(separator: "\n").filter { $0.contains("ctxt_switches") }
            switches[number] = lines?.joined(separator: " ")
        }
        return switches
    }
}
