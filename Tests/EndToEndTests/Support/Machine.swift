import Foundation
import TestSupport

/// Settings in the environment of the test run.
enum TestRun {
    static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}

/// The error of a test that cannot run here. `description` says what the machine lacks.
struct NotPossibleHere: Error, CustomStringConvertible {
    let description: String
}

/// The capabilities that the machine offers to tests.
enum Machine {
    static let isRoot = geteuid() == 0

    /// Whether tests can mount, for which they need root in the machine's own namespace.
    static let canMount = isRoot && Programs.has("mount") && Programs.has("umount") && succeeds("unshare", "-m", "true")

    static let hasLoopDevices =
        canMount && Programs.has("mkfs.ext4") && Programs.has("losetup") && succeeds("losetup", "--find")

    /// Returns whether the kernel supports a file system, without loading its module.
    static func knows(fileSystem name: String) -> Bool {
        let known = (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? ""
        return known.split(whereSeparator: \.isWhitespace).contains(Substring(name))
    }

    static let hasReflinks = hasLoopDevices && Programs.has("mkfs.xfs")

    /// Whether strace has the right to trace.
    static let canTrace = Programs.has("strace") && succeeds("strace", "-o", "/dev/null", "true")

    /// Whether a process can have its own boot time. This needs root, and a kernel that moves a program into its time
    /// namespace on exec.
    static let canShiftBootTime =
        isRoot && succeeds(bootTime(shiftedBy: 1_000_000_000) + ["awk", "{ exit !($1 > 1000000000) }", "/proc/uptime"])

    /// The whole seconds since the machine was started, including sleep.
    static var bootSeconds: Int {
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return now.tv_sec
    }

    /// Returns a command prefix that shifts a program's boot time by this many seconds, forward or back.
    static func bootTime(shiftedBy seconds: Int) -> [String] {
        ["unshare", "--time", "--boottime", "\(seconds)", "--"]
    }

    private static func succeeds(_ words: String...) -> Bool { succeeds(words) }

    private static func succeeds(_ words: [String]) -> Bool {
        guard let process = try? ChildProcess(words[0], arguments: Array(words.dropFirst())) else { return false }
        return process.blockUntilExit(within: .seconds(10)) == .code(0)
    }
}
