/// The files of an upload, as they were when it was accepted.
package struct UploadSource: Hashable, Sendable, Codable {
    package struct File: Hashable, Sendable, Codable {
        package var path: String
        package var identity: FileIdentity
        /// Whether it is the service's own copy, which goes with the task.
        package var isSnapshot: Bool

        package init(path: String, identity: FileIdentity, isSnapshot: Bool = false) {
            self.path = path
            self.identity = identity
            self.isSnapshot = isSnapshot
        }

        /// Whether a file that has this identity now is the one that was accepted, unchanged.
        ///
        /// The number of its device does not count: it is another one behind a reboot (btrfs, NFS, LVM, USB). Nor does an inode's
        /// number of a copy, whose name nobody else knows: some file systems number them anew with each mount. Where that is so of the
        /// file's own it has none now.
        package func isUnchanged(_ now: FileIdentity?) -> Bool {
            guard let now, now.size == identity.size, now.modifiedNanoseconds == identity.modifiedNanoseconds else {
                return false
            }
            return isSnapshot || now.inode == identity.inode || now.inode == 0
        }
    }

    /// Those of a form in the order of its fields, or the one that is the body.
    package var files: [File]
    /// Stands between the parts of a form; nil where a file is the body.
    package var boundary: String?
    /// Bytes of the whole body.
    package var length: Int64

    package init(files: [File], boundary: String? = nil, length: Int64) {
        self.files = files
        self.boundary = boundary
        self.length = length
    }
}
