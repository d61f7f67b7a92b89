import Foundation
import TestSupport

/// What the person who runs the tests says in the environment.
enum TestRun {
    static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}

/// A test cannot do here what it is there for; `description` says what is missing.
struct NotPossibleHere: Error, CustomStringConvertible {
    let description: String
}

/// What the machine lets a test do.
enum Machine {
    static let isRoot = geteuid() == 0

    /// Mounting needs root in the machine's own name space.
    static let canMount = isRoot && Programs.has("mount") && Programs.has("umount") && succeeds("unshare", "-m", "true")

    static let hasLoopDevices =
        canMount && Programs.has("mkfs.ext4") && Programs.has("losetup") && succeeds("losetup", "--find")

    /// Whether the kernel has a file system, without loading it.
    static func knows(fileSystem name: String) -> Bool {
        let known = (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? ""
        return known.split(whereSeparator: \.isWhitespace).contains(Substring(name))
    }

    static let hasReflinks = hasLoopDevices && Programs.has("mkfs.xfs")

    /// strace needs the right to trace.
    static let canTrace = Programs.has("strace") && succeeds("strace", "-o", "/dev/null", "true")

    /// Boot time of one's own: as root, where the kernel moves a program into its time namespace when it is executed.
    static let canShiftBootTime =
        isRoot && succeeds(bootTime(shiftedBy: 1_000_000_000) + ["awk", "{ exit !($1 > 1000000000) }", "/proc/uptime"])

    /// Whole seconds since the machine was started, those asleep included.
    static var bootSeconds: Int {
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return now.tv_sec
    }

    /// To be put before a program: its boot time goes before the machine's by so many seconds, or behind it.
    static func bootTime(shiftedBy seconds: Int) -> [String] {
        ["unshare", "--time", "--boottime", "\(seconds)", "--"]
    }

    private static func succeeds(_ words: String...) -> Bool { succeeds(words) }

    private static func succeeds(_ words: [String]) -> Bool {
        guard let process = try? ChildProcess(words[0], arguments: Array(words.dropFirst())) else { return false }
        return process.blockUntilExit(within: .seconds(10)) == .code(0)
    }
}
