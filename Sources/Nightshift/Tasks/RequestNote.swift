import Foundation
import FoundationNetworking
import NightshiftAPI

/// What the library notes with a task of the service, to give a later process the request it was made from.
///
/// Without the values of secret header fields: the service has them, nobody else needs them.
struct RequestNote: Codable {
    var url: URL
    var method: String?
    var headers: [HeaderField]
    var cachePolicy: UInt
    var timeout: Double
    /// Nil where it does.
    var allowsCellularAccess: Bool?
    /// Nil where it does.
    var handlesCookies: Bool?
    /// The main document of the page that it belongs to, where the request names one.
    var mainDocument: URL?

    init?(_ request: URLRequest) {
        guard let url = request.url else { return nil }
        self.url = url
        method = request.httpMethod
        headers = request.fields.filter { !$0.soundsSecret }
        cachePolicy = request.cachePolicy.rawValue
        timeout = request.finiteTimeout
        allowsCellularAccess = request.allowsCellularAccess ? nil : false
        handlesCookies = request.httpShouldHandleCookies ? nil : false
        mainDocument = request.mainDocumentURL
    }

    init?(_ text: String?) {
        guard let text, let note = try? JSON.decode(RequestNote.self, from: Data(text.utf8)) else { return nil }
        self = note
    }

    var text: String? {
        (try? JSON.encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }

    var request: URLRequest {
        var request = URLRequest(
            url: url, cachePolicy: URLRequest.CachePolicy(rawValue: cachePolicy) ?? .useProtocolCachePolicy,
            timeoutInterval: timeout)
        request.httpMethod = method
        request.allowsCellularAccess = allowsCellularAccess ?? true
        request.httpShouldHandleCookies = handlesCookies ?? true
        request.mainDocumentURL = mainDocument
        for field in headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }
}

extension URLRequest {
    /// Its timeout in seconds, as a number that JSON and whole numbers have room for: infinite is a usual way to say "none".
    var finiteTimeout: Double { timeoutInterval.limited(to: 0...Limits.longestTimeout, or: 60) }

    /// The header fields in a fixed order.
    var fields: [HeaderField] {
        (allHTTPHeaderFields ?? [:]).map { HeaderField(name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
    }

    /// The request that a task of another process was made from, as far as the service knows it.
    init?(_ task: SessionTask) {
        if let note = RequestNote(task.clientData) {
            self = note.request
            return
        }
        guard let url = URL(string: task.task.url) else { return nil }
        self.init(url: url)
        httpMethod = task.task.method
    }
}
