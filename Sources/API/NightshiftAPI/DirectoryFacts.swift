/// The owner and the permissions of a directory. They determine whether other users could replace its contents.
package struct DirectoryFacts: Hashable, Sendable {
    package var path: String
    package var owner: UInt32
    package var group: UInt32
    /// The permission bits, including the sticky bit.
    package var mode: UInt32
    /// Whether the directory has an access control list with entries for further users or groups (acl(5)). In this
    /// case, the group bits are the maximum of the permissions in these entries.
    package var hasAccessList: Bool

    package init(path: String, owner: UInt32, group: UInt32, mode: UInt32, hasAccessList: Bool = false) {
        self.path = path
        self.owner = owner
        self.group = group
        self.mode = mode
        self.hasAccessList = hasAccessList
    }

    /// The user on whose behalf a directory is checked, and the other users that this user trusts.
    package struct Viewer: Hashable, Sendable {
        package var user: UInt32
        /// The group whose only member is this user, if such a group exists. Many systems create it and make all files
        /// of the user group-writable.
        package var privateGroup: UInt32?
        /// The owners that are trusted because they have all permissions: root, and the id that root has in a user
        /// namespace.
        package var trusted: Set<UInt32>

        package init(user: UInt32, privateGroup: UInt32?, trusted: Set<UInt32> = [0]) {
            self.user = user
            self.privateGroup = privateGroup
            self.trusted = trusted
        }
    }

    /// A problem with a directory, and the command that fixes it.
    package struct Flaw: Hashable, Sendable, Error {
        package var message: String
        package var remedy: String
    }

    /// Returns the problem with a directory for private files: another user owns it or can write to it. Returns nil if
    /// there is no problem.
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

    /// Returns the problem with a parent directory: other users could replace the directory in it. Returns nil if there
    /// is no problem.
    package func flaw(above child: DirectoryFacts, for viewer: Viewer) -> Flaw? {
        guard owner == viewer.user || viewer.trusted.contains(owner) else {
            return Flaw(
                message: "The directory \(path), which contains \(child.path), belongs to user \(owner), not to you.",
                remedy: "Use another directory with NIGHTSHIFT_HOME, or run: chown \(viewer.user) '\(path)'")
        }
        // The sticky bit prevents users from renaming or deleting files of others.
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
