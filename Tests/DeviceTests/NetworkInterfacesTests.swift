import Clock
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of the kernel's links and addresses, in a network namespace of a separate process.
@Suite(.serialized) struct NetworkInterfacesTests {
    fileprivate static var hasNetwork: Bool { NetworkInterfaces.addresses()?.isEmpty == false }

    @Test(
        .timeLimit(.minutes(20)),
        .enabled(if: NetworkNamespace.canBeMade, "a network namespace needs CAP_SYS_ADMIN and ip(8)"))
    func `Only an address that is valid beyond its own link counts as a network`() async {
        await #expect(processExitsWith: .success) {
            try NetworkNamespace.enter()
            #expect(!NetworkInterfacesTests.hasNetwork)
            try NetworkNamespace.ip("link", "set", "lo", "up")
            #expect(!NetworkInterfacesTests.hasNetwork)
            try NetworkNamespace.ip("link", "add", "one", "type", "veth", "peer", "name", "two")
            try NetworkNamespace.ip("addr", "add", "169.254.7.7/16", "dev", "one")
            try NetworkNamespace.ip("link", "set", "one", "up")
            try NetworkNamespace.ip("link", "set", "two", "up")
            // The kernel reports a carrier after ip(8) has returned, sometimes much later.
            try blockUntil("the carrier") { NetworkNamespace.isRunning("one") }
            #expect(!NetworkInterfacesTests.hasNetwork, "link-local")
            try NetworkNamespace.ip("addr", "add", "192.0.2.1/24", "dev", "one")
            #expect(NetworkInterfacesTests.hasNetwork)
            try NetworkNamespace.ip("link", "set", "two", "down")
            try blockUntil("the carrier's loss") { !NetworkNamespace.isRunning("one") }
            #expect(!NetworkInterfacesTests.hasNetwork, "no carrier")
            try NetworkNamespace.ip("link", "set", "two", "up")
            try blockUntil("the carrier") { NetworkNamespace.isRunning("one") }
            #expect(NetworkInterfacesTests.hasNetwork)
            try NetworkNamespace.ip("addr", "del", "192.0.2.1/24", "dev", "one")
            #expect(!NetworkInterfacesTests.hasNetwork)
            try NetworkNamespace.ip("addr", "add", "2001:db8::1/64", "dev", "one", "nodad")
            #expect(NetworkInterfacesTests.hasNetwork)
        }
    }

    @Test(
        .timeLimit(.minutes(20)),
        .enabled(if: NetworkNamespace.canBeMade, "a network namespace needs CAP_SYS_ADMIN and ip(8)"))
    func `The kernel reports network changes when NetworkManager is missing`() async {
        await #expect(processExitsWith: .success) {
            try NetworkNamespace.enter()
            try NetworkNamespace.ip("link", "add", "one", "type", "veth", "peer", "name", "two")
            try NetworkNamespace.ip("link", "set", "one", "up")
            try NetworkNamespace.ip("link", "set", "two", "up")
            let monitor = try DeviceMonitor(
                .system(address: "unix:path=/nowhere/at/all"), freeSpaceOf: "/", overrides: [:])
            let changed = DispatchSemaphore(value: 0)
            let listening = Task {
                for await _ in monitor.changes { changed.signal() }
            }
            // This does not suspend, because the monitor's thread must be in the namespace.
            func becomes(_ isAvailable: Bool, _ name: String?) -> Bool {
                let end = DispatchTime.now() + .seconds(Int(WaitingTime.longest.components.seconds))
                while monitor.report.conditions.network.isAvailable != isAvailable
                    || monitor.report.conditions.network.name != name
                {
                    guard changed.wait(timeout: end) == .success else { return false }
                }
                return true
            }
            monitor.start()
            #expect(becomes(false, nil))
            try NetworkNamespace.ip("addr", "add", "192.0.2.1/24", "dev", "one")
            #expect(becomes(true, "one 192.0.2.1"))
            try NetworkNamespace.ip("addr", "add", "2001:db8::1/64", "dev", "two", "nodad")
            #expect(becomes(true, "one 192.0.2.1, two 2001:db8:0:0::/64"))
            try NetworkNamespace.ip("route", "add", "default", "dev", "two")
            #expect(becomes(true, "two 2001:db8:0:0::/64"))
            try NetworkNamespace.ip("link", "set", "two", "down")
            #expect(becomes(false, nil), "no carrier")
            listening.cancel()
            monitor.shutdown()
        }
    }

    @Test(.timeLimit(.minutes(20))) func `The listener for clock changes does not wake up while nothing happens`() async
    {
        await #expect(processExitsWith: .success) {
            let others = Set(ThreadActivity.read().keys)
            let clock = SystemClock().wallClockChanges()
            try ThreadActivity.blockUntilAsleep(for: .milliseconds(300), besides: others)
            let before = ThreadActivity.read(besides: others)
            blockThread(for: .milliseconds(1_500), because: "That nobody wakes is seen only over time.")
            let after = ThreadActivity.read(besides: others)
            #expect(before.count >= 1, "A thread listens for the clock.")
            #expect(before == after)
            withExtendedLifetime(clock) {}
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
        // glibc declares this function only if _GNU_SOURCE is defined.
        guard let symbol = dlsym(nil, "unshare") else { throw Failure(text: "There is no unshare(2).") }
        let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
        // The number is CLONE_NEWNET of linux/sched.h.
        guard unshare(0x4000_0000) == 0 else { throw Failure(text: String(cString: strerror(errno))) }
    }

    /// Returns whether the link is up and has a carrier, according to SIOCGIFFLAGS.
    static func isRunning(_ link: String) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var request = ifreq()
        withUnsafeMutableBytes(of: &request) { $0.copyBytes(from: Array(link.utf8)) }
        guard ioctl(descriptor, UInt(SIOCGIFFLAGS), &request) == 0 else { return false }
        return Int32(request.ifr_ifru.ifru_flags) & Int32(IFF_RUNNING) != 0
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
