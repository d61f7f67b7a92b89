import Foundation
import NightshiftAPI

/// The data from which a cancelled download or upload can be continued. It is a property list with the keys of Apple's
/// resume data.
struct ResumeData {
    var url: URL
    var received: Int64
    var entityTag: String?
    var lastModified: String?
    /// The service's token for the bytes. It can be used once.
    var token: String
    /// The note about the original request.
    var note: String?
    var kind: TaskKind

    private enum Key {
        static let version = "NSURLSessionResumeInfoVersion"
        static let url = "NSURLSessionDownloadURL"
        static let received = "NSURLSessionResumeBytesReceived"
        static let entityTag = "NSURLSessionResumeEntityTag"
        static let date = "NSURLSessionResumeServerDownloadDate"
        static let file = "NSURLSessionResumeInfoTempFileName"
        static let token = "NightshiftResumeToken"
        static let note = "NightshiftRequest"
    }

    /// Makes resume data for a cancelled or failed transfer. Returns nil if the transfer cannot be continued.
    init?(_ status: TaskStatus, note: String?) {
        guard let token = status.resumeData, let url = URL(string: status.url) else { return nil }
        self.url = url
        self.token = token
        self.note = note
        kind = status.kind
        received = status.countOfBytesReceived
        entityTag = status.response?.headers.first("ETag")
        lastModified = status.response?.headers.first("Last-Modified")
    }

    /// Decodes resume data that an app has kept. Returns nil if this library did not make the data.
    init?(_ data: Data) {
        guard
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any],
            let token = list[Key.token] as? String,
            let url = (list[Key.url] as? String).flatMap({ URL(string: $0) })
        else { return nil }
        self.url = url
        self.token = token
        note = list[Key.note] as? String
        kind = list[Key.file] == nil ? .upload : .download
        received = (list[Key.received] as? NSNumber)?.int64Value ?? 0
        entityTag = list[Key.entityTag] as? String
        lastModified = list[Key.date] as? String
    }

    /// Returns the property list for the app, and creates the file that the property list names.
    func handOut() -> Data? {
        if kind == .download { StandInFile(token: token).place(size: received) }
        return data
    }

    /// Removes the placeholder file of resume data that has been used.
    func discardStandIn() {
        if kind == .download { StandInFile(token: token).remove() }
    }

    private var data: Data? {
        var list: [String: Any] = [
            Key.version: 2, Key.url: url.absoluteString, Key.received: received, Key.token: token,
        ]
        if kind == .download { list[Key.file] = StandInFile(token: token).name }
        list[Key.entityTag] = entityTag
        list[Key.date] = lastModified
        list[Key.note] = note
        return try? PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    }
}
