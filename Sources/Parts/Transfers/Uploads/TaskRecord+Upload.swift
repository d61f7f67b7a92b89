import NightshiftAPI
import Store

/// The target and the body of an upload task.
extension TaskRecord {
    /// Returns the bytes to send, and the URL to send them to.
    func uploadTarget(_ files: UploadSource) -> UploadTarget {
        var headers = request.headers ?? []
        if let boundary = files.boundary {
            headers.append(
                HeaderField(name: "Content-Type", value: MultipartFormData.contentType(boundary: boundary)))
        }
        return UploadTarget(
            url: request.url ?? "", method: method, headers: headers, length: files.length, source: files.version,
            fileName: request.source?.split(separator: "/").last.map(String.init))
    }

    /// Returns the body if it is more than one file; otherwise nil.
    func form(_ files: UploadSource) throws(TransferFailure) -> MultipartBody? {
        guard let boundary = files.boundary else { return nil }
        return try MultipartBody(
            MultipartFormData(boundary: boundary, fields: request.form ?? [], files: files.files))
    }
}

extension MultipartFormData {
    /// Creates a form with the texts of the fields and with files.
    ///
    /// - Parameter files: the files of those fields that contain a file, in the order of the fields.
    init(boundary: String, fields: [FormField], files: [UploadSource.File]) throws(TransferFailure) {
        var rest = files[...]
        var parts: [Part] = []
        for field in fields {
            if let source = field.source {
                guard let file = rest.popFirst() else {
                    throw TransferFailure(.sourceMissing, "The form has more files than were checked.")
                }
                let name = field.fileName ?? source.split(separator: "/").last.map(String.init) ?? "file"
                parts.append(
                    Part(
                        name: field.name, content: .file(path: file.path, size: file.identity.size), fileName: name,
                        contentType: field.contentType))
            } else {
                parts.append(
                    Part(name: field.name, content: .text(field.value ?? ""), contentType: field.contentType))
            }
        }
        try self.init(boundary: boundary, parts: parts)
    }
}

extension UploadSource {
    /// A text that changes with every change of the bytes that ``File/isUnchanged(_:)`` detects. Text fields with the
    /// same boundary never change.
    fileprivate var version: String {
        let identities = files.map { file in
            let inode = file.isSnapshot ? "copy" : "\(file.identity.inode)"
            return "\(inode).\(file.identity.modifiedNanoseconds).\(file.identity.size)"
        }
        return ([boundary].compactMap(\.self) + identities).joined(separator: "/")
    }
}
