import Foundation
import Glibc
import NightshiftAPI
import Store

extension RequestRules {
    /// The content of an upload, as stored in its row.
    struct UploadContent {
        var source: FileIdentity?
        var files: UploadSource?
    }

    static func checkNoUpload(_ request: TaskRequest, pointer: String) throws(Problem) {
        guard request.source == nil else {
            throw .invalid("A download cannot have a source file.", pointer: "\(pointer)/source")
        }
        guard request.form == nil else { throw .invalid("A download cannot have a form.", pointer: "\(pointer)/form") }
        guard request.resumption == nil else {
            throw .invalid("A download cannot have an upload protocol.", pointer: "\(pointer)/resumption")
        }
        guard request.snapshot == nil else {
            throw .invalid("A download cannot have a snapshot policy.", pointer: "\(pointer)/snapshot")
        }
    }

    /// Returns the content of an upload, as its row stores it.
    ///
    /// - Parameter copies: a task whose copies are sent. If it is given, the files under the original names no longer
    ///   matter.
    static func uploadContent(
        _ request: TaskRequest, copies: TaskRecord?, pointer: String
    ) throws(Problem) -> UploadContent {
        if let copies, copies.uploadSource?.files.allSatisfy(\.isSnapshot) == true {
            return UploadContent(source: copies.source, files: copies.uploadSource)
        }
        guard let form = request.form else {
            let pointer = "\(pointer)/source"
            guard let path = request.source else {
                throw .invalid("An upload requires a source file or a form.", pointer: pointer)
            }
            return UploadContent(source: try identity(ofSource: path, pointer: pointer))
        }
        try check(form, request, pointer: pointer)
        var files: [UploadSource.File] = []
        for (index, field) in form.enumerated() {
            guard let path = field.source else { continue }
            let identity = try identity(ofSource: path, pointer: "\(pointer)/form/\(index)/source")
            files.append(UploadSource.File(path: path, identity: identity))
        }
        let boundary = copies?.uploadSource?.boundary ?? "nightshift-\(UUID().uuidString.lowercased())"
        do throws(TransferFailure) {
            let body = try MultipartBody(MultipartFormData(boundary: boundary, fields: form, files: files))
            return UploadContent(files: UploadSource(files: files, boundary: boundary, length: body.length))
        } catch {
            throw .invalid(error.message, pointer: "\(pointer)/form")
        }
    }

    private static func check(_ form: [FormField], _ request: TaskRequest, pointer: String) throws(Problem) {
        guard request.source == nil else {
            throw .invalid("An upload cannot have both a source file and a form.", pointer: "\(pointer)/form")
        }
        guard request.resumption != .tus else {
            throw .invalid("The protocol tus requires a file, not a form.", pointer: "\(pointer)/resumption")
        }
        guard request.headers?.first("Content-Type") == nil else {
            throw .invalid("A form sets its own Content-Type. Leave the field out.", pointer: "\(pointer)/headers")
        }
        guard (1...Limits.formFields).contains(form.count) else {
            throw .invalid("A form must have 1 to \(Limits.formFields) fields.", pointer: "\(pointer)/form")
        }
        let texts = form.map { [$0.name, $0.value, $0.fileName, $0.contentType].compactMap(\.self) }
        guard texts.joined().reduce(0, { $0 + $1.utf8.count }) <= Limits.formTextBytes else {
            throw .invalid(
                "The names and texts of a form can have at most \(Limits.formTextBytes) bytes together.",
                pointer: "\(pointer)/form")
        }
        for (index, field) in form.enumerated() {
            let pointer = "\(pointer)/form/\(index)"
            guard !field.name.isEmpty else {
                throw .invalid("A form field must have a name.", pointer: "\(pointer)/name")
            }
            guard (field.value == nil) != (field.source == nil) else {
                throw .invalid("A form field must have either a value or a source file.", pointer: pointer)
            }
            guard field.fileName == nil || field.source != nil else {
                throw .invalid("Only a form field with a file can have a file name.", pointer: "\(pointer)/fileName")
            }
        }
    }

    private static func identity(ofSource path: String, pointer: String) throws(Problem) -> FileIdentity {
        try check(path: path, pointer: pointer)
        guard let identity = FileIdentity(path: path) else {
            throw .invalid(
                "'\(path)' cannot be uploaded. It cannot be read (\(String(cString: strerror(errno)))), or is "
                    + "not a regular file.",
                pointer: pointer)
        }
        guard !FileIdentity.isMadeUp(path: path, size: identity.size) else {
            throw .invalid(
                "The length of '\(path)' is unknown before it is read. Copy it to a file, and upload that file.",
                pointer: pointer)
        }
        return identity
    }
}
