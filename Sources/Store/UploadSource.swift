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
