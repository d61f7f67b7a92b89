import Foundation
import Glibc
import NightshiftAPI

/// The part of the cgroup v2 tree that belongs to one service. It is a cgroup below the service's own cgroup, with one
/// child per app. Apps in ``AppUnits`` have cgroups that systemd has created.
struct ControlGroups: Sendable {
    /// The mount point of the cgroup tree.
    private let mount: String
    /// The name of the service's cgroup: `nightshift-` and 16 hexadecimal digits that are unique to the service's home.
    private let name: String
    private let home: String
    /// The path of the cgroup that contains the cgroups of the apps.
    let path: String

    /// The reason why cgroups cannot be used.
    struct Unavailable: Error {
        let message: String
    }

    private static let prefix = "nightshift-"

    /// Creates the cgroup of the service, and thaws all processes in it that a previous run left frozen.
    init(home: String) throws(Unavailable) {
        guard let mount = Self.mountPoint() else { throw Unavailable(message: "no cgroup v2 is mounted") }
        self.mount = mount
        self.home = home
        name = Self.prefix + AppID.tag(of: home)
        let base = try Self.base(mount: mount)
        path = "\(base)/\(name)"
        // Moving a process requires write access to the common ancestor of both cgroups.
        guard access("\(base)/cgroup.procs", W_OK) == 0 else {
            throw Unavailable(message: "\(base)/cgroup.procs cannot be written: \(String(cString: strerror(errno)))")
        }
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw Unavailable(message: "\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        guard ControlGroup(path: path).thaw() else {
            throw Unavailable(message: "\(path)/cgroup.freeze cannot be written: \(String(cString: strerror(errno)))")
        }
        for folder in folders() {
            let group = ControlGroup(path: folder)
            _ = group.thaw()
            group.removeIfEmpty()
        }
    }

    /// Thaws every process that a service with this home has frozen, anywhere in the tree. The previous run may have
    /// been in another cgroup, and this run may not be able to use cgroups. Processes whose app has ended are also
    /// thawed.
    static func thawAll(home: String) {
        guard let mount = mountPoint(),
            let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc")
        else { return }
        let name = prefix + AppID.tag(of: home)
        var groups: Set<ControlGroup> = []
        for process in names where process.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard let folders = path(ofProcess: process)?.split(separator: "/") else { continue }
            if let last = folders.lastIndex(where: { AppUnits.isUnit($0, home: home) }) {
                groups.insert(ControlGroup(path: mount + folders[...last].reduce("") { "\($0)/\($1)" }))
            }
            guard let place = folders.lastIndex(of: name[...]) else { continue }
            for end in place...min(place + 1, folders.count - 1) {
                groups.insert(ControlGroup(path: mount + folders[...end].reduce("") { "\($0)/\($1)" }))
            }
        }
        for group in groups { _ = group.thaw() }
    }

    /// Returns a cgroup for a process of an app, and creates it if necessary. All processes in it are thawed.
    ///
    /// If the cgroup of another process of the app is in `taken`, the new process gets a separate cgroup. So the two
    /// processes are suspended separately.
    func group(of app: AppID, besides taken: Set<ControlGroup>) -> ControlGroup? {
        var group = ControlGroup(path: "\(path)/\(Self.appPrefix)\(app.shortFileName)")
        var number = 1
        while taken.contains(group) {
            number += 1
            group = ControlGroup(path: "\(path)/\(Self.appPrefix)\(app.shortFileName)~\(number)")
        }
        guard mkdir(group.path, 0o755) == 0 || errno == EEXIST, group.thaw() else { return nil }
        return group
    }

    /// Returns the cgroup of an app's process, if a service with this home has put the process there.
    ///
    /// That service may have been in another cgroup itself, so only the end of the path is compared.
    func group(ofProcess process: pid_t) -> ControlGroup? {
        guard let path = Self.path(ofProcess: "\(process)") else { return nil }
        let folders = path.split(separator: "/")
        if let last = folders.lastIndex(where: { AppUnits.isUnit($0, home: home) }) {
            return ControlGroup(path: mount + folders[...last].reduce("") { "\($0)/\($1)" })
        }
        guard let place = folders.lastIndex(of: name[...]), place + 1 < folders.count else { return nil }
        return ControlGroup(path: mount + folders[...(place + 1)].reduce("") { "\($0)/\($1)" })
    }

    /// Removes every cgroup without processes.
    func removeEmpty() {
        for folder in folders() { ControlGroup(path: folder).removeIfEmpty() }
        ControlGroup(path: path).removeIfEmpty()
    }

    /// Returns the app cgroup that contains a process, for any home; nil if the process is in no app cgroup.
    static func appFolder(ofProcess process: pid_t) -> String? {
        guard let path = path(ofProcess: "\(process)") else { return nil }
        let folders = path.split(separator: "/")
        if let last = folders.lastIndex(where: { AppUnits.isUnit($0) }) {
            return "/" + folders[...last].joined(separator: "/")
        }
        guard let place = folders.lastIndex(where: isServiceFolder), place + 1 < folders.count,
            folders[place + 1].hasPrefix(appPrefix)
        else { return nil }
        return "/" + folders[...(place + 1)].joined(separator: "/")
    }

    private func folders() -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return [] }
        // The kernel's own files in a cgroup have dots in their names. Names of app cgroups begin with `app-`.
        return names.filter { $0.hasPrefix(Self.appPrefix) }.map { "\(path)/\($0)" }
    }

    private static let appPrefix = "app-"

    /// Returns the path of the service's own cgroup.
    ///
    /// A service that an app started is in the app's cgroup, and would be frozen with the app. So this first moves the
    /// service out of that cgroup.
    private static func base(mount: String) throws(Unavailable) -> String {
        guard let own = path(ofProcess: "self") else {
            throw Unavailable(message: "the service has no cgroup v2 of its own")
        }
        let folders = own.split(separator: "/")
        guard !folders.contains("..") else {
            throw Unavailable(message: "the service's cgroup is outside of its cgroup namespace")
        }
        let outer = folders.prefix { !isServiceFolder($0) }
        let base = mount + outer.reduce("") { "\($0)/\($1)" }
        if outer.count < folders.count, !ControlGroup(path: base).takeIn() {
            throw Unavailable(
                message: "the service runs in an app's cgroup and cannot leave it: \(String(cString: strerror(errno)))")
        }
        return base
    }

    private static func isServiceFolder(_ folder: Substring) -> Bool {
        folder.hasPrefix(prefix) && folder.utf8.count == prefix.utf8.count + 16
            && folder.dropFirst(prefix.count).allSatisfy(\.isHexDigit)
    }

    private static func mountPoint() -> String? {
        guard let text = KernelFile.text("/proc/mounts") else { return nil }
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // The kernel writes spaces and backslashes in paths as octal numbers (fstab(5)). Mounts with such paths are
            // not used.
            if fields.count > 2, fields[2] == "cgroup2", !fields[1].contains("\\") { return String(fields[1]) }
        }
        return nil
    }

    private static func path(ofProcess process: String) -> String? {
        guard let text = KernelFile.text("/proc/\(process)/cgroup") else { return nil }
        return text.split(separator: "\n").first { $0.hasPrefix("0::/") }.map { String($0.dropFirst(3)) }
    }
}
