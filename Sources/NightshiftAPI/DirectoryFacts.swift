/// The owner and the permissions of a directory, which decide whether others could put something in its place.
package struct DirectoryFacts: Hashable, Sendable {
    package var path: String
    package var owner: UInt32
    package var group: UInt32
    /// The permission bits with the sticky one.
    package var mode: UInt32
    /// Whether more users and groups than these have permissions of their own (acl(5)): those of the group are then the most that
    /// any of them has.
    package var hasAccessList: Bool

    package init(path: String, owner: UInt32, group: UInt32, mode: UInt32, hasAccessList: Bool = false) {
        self.path = path
        self.owner = owner
        self.group = group
        self.mode = mode
        self.hasAccessList = hasAccessList
    }

    /// The user who asks, and the users whom this one trusts.
    package struct Viewer: Hashable, Sendable {
        package var user: UInt32
        /// The group that only this user is in, where there is one: many systems make everything writable by it.
        package var privateGroup: UInt32?
        /// Owners beside the user who may do anything anyway: root, and what root is called in a user namespace.
        package var trusted: Set<UInt32>

        package init(user: UInt32, privateGroup: UInt32?, trusted: Set<UInt32> = [0]) {
            self.user = user
            self.privateGroup = privateGroup
            self.trusted = trusted
        }
    }

    /// What is wrong with a directory, and the command that mends it.
    package struct Flaw: Hashable, Sendable, Error {
        package var message: String
        package var remedy: String
    }

    /// What is wrong with a directory that holds private things: others own it, or may write to it.
    package func flaw(for viewer: Viewer) -> Flaw? {
        guard owner == viewer.user else {
            return Flaw(
                message: "The directory \(path) belongs to user \(owner), not to you.",
                remedy: "Use another directory with NIGHTSHIFT_HOME, or run: chown \(viewer.user) '\(path)'")
        }
        guard isWritableByOthers(for: viewer) else { return nil }
        return Flaw(
            message: "Other users can write to the directory \(path).",
            remedy: "Check it for files that are not yours, then run: chmod 700 '\(path)'")
    }

    /// What is wrong with a directory above one: others could put another one in its place.
    package func flaw(above child: DirectoryFacts, for viewer: Viewer) -> Flaw? {
        guard owner == viewer.user || viewer.trusted.contains(owner) else {
            return Flaw(
                message: "The directory \(path), which contains \(child.path), belongs to user \(owner), not to you.",
                remedy: "Use another directory with NIGHTSHIFT_HOME, or run: chown \(viewer.user) '\(path)'")
        }
        // The sticky bit leaves to each what is theirs.
        guard isWritableByOthers(for: viewer), mode & 0o1000 == 0 else { return nil }
        return Flaw(
            message: "Other users can write to the directory \(path), so they can replace \(child.path).",
            remedy: "chmod go-w '\(path)'")
    }

    private func isWritableByOthers(for viewer: Viewer) -> Bool {
        let isOfOneUser = group == viewer.privateGroup && !hasAccessList
        return mode & 0o002 != 0 || mode & 0o020 != 0 && !isOfOneUser
    }
}
