/// The files of an upload, with the identities that they had when the upload was accepted.
package struct UploadSource: Hashable, Sendable, Codable {
    package struct File: Hashable, Sendable, Codable {
        package var path: String
        package var identity: FileIdentity
        /// Whether the file is the service's own copy, which is deleted with the task.
        package var isSnapshot: Bool

        package init(path: String, identity: FileIdentity, isSnapshot: Bool = false) {
            self.path = path
            self.identity = identity
            self.isSnapshot = isSnapshot
        }

        /// Returns whether a file with this current identity is the accepted one and is unchanged.
        ///
        /// The device number is ignored, because it can change with a reboot (btrfs, NFS, LVM, USB). The inode number
        /// of a copy is ignored as well, because some file systems renumber inodes with each mount, and only the
        /// service knows the copy's name. On such a file system, the inode number of an original file is 0 now.
        package func isUnchanged(_ now: FileIdentity?) -> Bool {
            guard let now, now.size == identity.size, now.modifiedNanoseconds == identity.modifiedNanoseconds else {
                return false
            }
            return isSnapshot || now.inode == identity.inode || now.inode == 0
        }
    }

    /// The files of a form in the order of its fields, or the only file, which is the body.
    package var files: [File]
    /// The boundary between the parts of a form; nil if a file is the body.
    package var boundary: String?
    /// The length of the whole body in bytes.
    package var length: Int64

    package init(files: [File], boundary: String? = nil, length: Int64) {
        self.files = files
        self.boundary = boundary
        self.length = length
    }
}
