import Foundation
import FoundationNetworking
import NightshiftAPI
import Synchronization

extension TaskCore {
    /// How the service is asked to take the task over.
    ///
    /// - Parameters:
    ///   - isHeld: whether it has to wait to be resumed.
    ///   - asksFirst: whether the app wants to be asked when the begin date has come.
    func handover(isHeld: Bool, asksFirst: Bool) -> SessionTaskRequest {
        state.withLock { state in
            var task = TaskRequest(kind: kind)
            if let token = state.token {
                task.resumeData = token
                task.forbid(as: state.originalRequest)
            } else if let request = state.originalRequest {
                task.copyProperties(of: request, cookiesOf: session.configuration)
            }
            // As Foundation's own sessions have it: the variables count where the configuration says nothing.
            if session.configuration.connectionProxyDictionary == nil,
                let choice = session.connection.proxies.choice(for: state.originalRequest?.url?.absoluteString ?? "")
            {
                task.proxy = choice.proxy
                task.proxyVariable = choice.variable
            }
            task.source = source?.path(percentEncoded: false)
            task.priority = Self.told(state.priority)
            task.description = state.description
            task.earliestBeginDate = state.earliestBeginDate
            task.countOfBytesClientExpectsToSend = Self.known(state.clientExpectsToSend)
            task.countOfBytesClientExpectsToReceive = Self.known(state.clientExpectsToReceive)
            task.suspended = isHeld
            var handover = SessionTaskRequest(
                taskIdentifier: Int64(identifier), request: task, clientData: state.note)
            if let descriptor = state.descriptor {
                handover.sourceDescriptor = descriptor
                handover.request.snapshot = .copy
            }
            if asksFirst && state.earliestBeginDate != nil { handover.asksBeforeBeginning = true }
            return handover
        }
    }

    /// Why the service need not be asked; nil for a task that it has already.
    var flaw: URLError? {
        let (id, hasPlan, url, isOpen, isForCacheOnly) = state.withLock { state in
            (
                state.id, state.token != nil || state.originalRequest != nil, state.originalRequest?.url,
                state.descriptor != nil, state.originalRequest?.isForCacheOnly(in: session.configuration) == true
            )
        }
        guard id == nil, !isOpen || isForCacheOnly else { return nil }
        // As FoundationNetworking puts it for resume data that nobody can use.
        guard hasPlan else { return .make(NSURLErrorUnsupportedURL, "unsupported URL") }
        if isForCacheOnly { return .notInCache(url) }
        if let source, !FileManager.default.fileExists(atPath: source.path(percentEncoded: false)) {
            return .make(NSURLErrorFileDoesNotExist, "The file to upload does not exist.", url: url)
        }
        return nil
    }

    /// What the service hears of a priority.
    static func told(_ priority: Float) -> Double {
        Double(priority.limited(to: 0...1, or: URLSessionTask.defaultPriority))
    }

    private static func known(_ count: Int64) -> Int64? { count >= 0 ? count : nil }

    /// Where resume data cannot be used, the download begins again from its request. Of an upload's file only the service knew.
    func forgetResumeData() -> Bool {
        guard kind == .download else { return false }
        return state.withLock { state in
            guard state.token != nil, state.originalRequest != nil else { return false }
            state.token = nil
            state.reported = 0
            return true
        }
    }
}

extension TaskRequest {
    /// Copies what `request` says of the transfer.
    mutating func copyProperties(of request: URLRequest, cookiesOf configuration: BackgroundConfiguration) {
        url = request.url?.absoluteString
        method = request.httpMethod
        var fields = request.fields
        if fields.first("Cookie") == nil, let cookies = configuration.storedCookies(for: request) {
            fields.append(HeaderField(name: "Cookie", value: cookies))
        }
        if kind == .download, let content = request.content {
            body = content
            // As Foundation says of a body that nobody describes.
            if fields.first("Content-Type") == nil, request.httpMethod == "POST" {
                fields.append(HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded"))
            }
        }
        headers = fields.isEmpty ? nil : fields
        // A request that is accepted nowhere is not sent on either.
        if configuration.httpShouldSetCookies, request.httpShouldHandleCookies, configuration.httpCookieStorage != nil,
            configuration.httpCookieAcceptPolicy != .never
        {
            handlesCookies = true
        }
        // 60 s is what a request says that nobody has told otherwise; the session's own time is meant then.
        if request.timeoutInterval != 60, request.timeoutInterval > 0 {
            idleTimeout = request.finiteTimeout
        }
        forbid(as: request)
    }

    /// A request can forbid what its session allows, not the other way round.
    fileprivate mutating func forbid(as request: URLRequest?) {
        if request?.allowsCellularAccess == false { allowsCellularAccess = false }
    }
}

extension URLRequest {
    /// What it sends along; of a stream no more than shows that it is too much. Nil where it sends nothing.
    fileprivate var content: Data? {
        if let httpBody { return httpBody.isEmpty ? nil : httpBody }
        guard let stream = httpBodyStream else { return nil }
        stream.open()
        defer { stream.close() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while data.count <= Limits.downloadBody {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count > 0 else { break }
            data.append(contentsOf: buffer[..<count])
        }
        return data.isEmpty ? nil : data
    }
}
