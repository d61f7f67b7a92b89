import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import CNightshift
import Foundation
import Glibc
import NightshiftAPI

/// The creation of the service's directories with private permissions. Directories that other users can change are
/// refused.
enum HomeDirectories {
    /// Creates the directories, or checks existing ones.
    ///
    /// - Throws: ``DaemonError/home(_:)`` if a directory cannot be created, belongs to another user, or can be changed
    ///   by others.
    static func prepare(_ paths: ServicePaths) throws(DaemonError) {
        let viewer = viewer()
        for directory in [paths.state, paths.runtime, paths.partials, paths.files, paths.sources, paths.apps] {
            try prepare(directory.path, viewer)
        }
        for directory in [paths.state, paths.runtime] { try checkParents(of: directory.path, viewer) }
    }

    /// Checks the existing directories, and changes nothing.
    ///
    /// - Throws: ``DaemonError/home(_:)`` if a directory belongs to another user, or can be changed by others.
    static func check(_ paths: ServicePaths) throws(DaemonError) {
        let viewer = viewer()
        for path in [paths.state.path, paths.runtime.path] where FileManager.default.fileExists(atPath: path) {
            try check(try facts(of: path).flaw(for: viewer))
            try checkParents(of: path, viewer)
        }
    }

    private static func prepare(_ path: String, _ viewer: DirectoryFacts.Viewer) throws(DaemonError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .home("The directory \(path) cannot be created or used: \(error.systemReason).")
        }
        let facts = try facts(of: path)
        try check(facts.flaw(for: viewer))
        // If others can read a directory, it was created by hand or with an older umask.
        if facts.mode & 0o077 != 0, chmod(path, 0o700) != 0 {
            throw .home(
                "Other users can access the directory \(path), and chmod failed: \(String(cString: strerror(errno))).")
        }
    }

    private static func checkParents(of path: String, _ viewer: DirectoryFacts.Viewer) throws(DaemonError) {
        guard let real = realpath(path, nil) else {
            throw .home("The directory \(path) cannot be used: \(String(cString: strerror(errno))).")
        }
        defer { free(real) }
        var child = try facts(of: String(cString: real))
        while child.path != "/" {
            let end = child.path.lastIndex(of: "/") ?? child.path.startIndex
            let parent = try facts(of: end == child.path.startIndex ? "/" : String(child.path[..<end]))
            try check(parent.flaw(above: child, for: viewer))
            child = parent
        }
    }

    private static func check(_ flaw: DirectoryFacts.Flaw?) throws(DaemonError) {
        if let flaw { throw .home("\(flaw.message) \(flaw.remedy)") }
    }

    private static func facts(of path: String) throws(DaemonError) -> DirectoryFacts {
        var information = stat()
        guard stat(path, &information) == 0 else {
            throw .home("The directory \(path) cannot be used: \(String(cString: strerror(errno))).")
        }
        return DirectoryFacts(
            path: path, owner: information.st_uid, group: information.st_gid, mode: information.st_mode & 0o7777,
            hasAccessList: nightshift_has_access_list(path))
    }

    private static func viewer() -> DirectoryFacts.Viewer {
        let user = geteuid()
        var trusted: Set<UInt32> = [0]
        // In a user namespace, every user from outside it has this number, and no user inside it does.
        if let text = KernelFile.text("/proc/sys/kernel/overflowuid"),
            let unmapped = UInt32(text.trimmingCharacters(in: .whitespacesAndNewlines)), isInUserNamespace
        {
            trusted.insert(unmapped)
        }
        return DirectoryFacts.Viewer(user: user, privateGroup: privateGroup(of: user), trusted: trusted)
    }

    /// Whether some users of the machine have no number in this user namespace. The initial namespace maps each user to
    /// the same number.
    private static var isInUserNamespace: Bool {
        let map = KernelFile.text("/proc/self/uid_map") ?? ""
        return map.split(whereSeparator: \.isWhitespace).map(String.init) != ["0", "0", "4294967295"]
    }

    /// Returns the private group of the user, on systems that create a group of the same name for each user.
    private static func privateGroup(of user: UInt32) -> UInt32? {
        guard let account = getpwuid(user) else { return nil }
        let (name, number) = (String(cString: account.pointee.pw_name), account.pointee.pw_gid)
        guard let group = getgrgid(number), String(cString: group.pointee.gr_name) == name else { return nil }
        var members: [String] = []
        var next = group.pointee.gr_mem
        while let member = next?.pointee {
            members.append(String(cString: member))
            next = next?.advanced(by: 1)
        }
        return members.allSatisfy { $0 == name } ? number : nil
    }
}
