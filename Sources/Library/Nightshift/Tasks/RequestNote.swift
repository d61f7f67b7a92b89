import Foundation
import FoundationNetworking
import NightshiftAPI

/// A note that the library stores with a task in the service. A later process reads the task's original request from
/// it.
///
/// Values of secret header fields are left out, because only the service needs them.
struct RequestNote: Codable {
    var url: URL
    var method: String?
    var headers: [HeaderField]
    var cachePolicy: UInt
    var timeout: Double
    /// Whether the request allows cellular access. Nil means true.
    var allowsCellularAccess: Bool?
    /// Whether the request handles cookies. Nil means true.
    var handlesCookies: Bool?
    /// The kind of traffic. Nil means the default.
    var networkServiceType: UInt?
    /// The main document of the page that the request belongs to, if the request names one.
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
        networkServiceType = request.networkServiceType == .default ? nil : request.networkServiceType.rawValue
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
        request.networkServiceType =
            networkServiceType.flatMap(URLRequest.NetworkServiceType.init(rawValue:)) ?? .default
        request.mainDocumentURL = mainDocument
        for field in headers { request.addValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }
}

extension URLRequest {
    /// The timeout in seconds, limited to a number that JSON and integers can represent. Apps often set infinity if
    /// they want no timeout.
    var finiteTimeout: Double { timeoutInterval.limited(to: 0...Limits.longestTimeout, or: 60) }

    /// The header fields in a fixed order.
    var fields: [HeaderField] {
        (allHTTPHeaderFields ?? [:]).map { HeaderField(name: $0.key, value: $0.value) }.sorted { $0.name < $1.name }
    }

    /// Makes the original request of a task that another process made, as far as the service knows the request.
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
