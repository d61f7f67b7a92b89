import Foundation
import FoundationNetworking
import NightshiftAPI
import Synchronization

extension TaskCore {
    /// Returns the request that sends the task to the service.
    ///
    /// - Parameters:
    ///   - isHeld: Whether the task must wait until it is resumed.
    ///   - asksFirst: Whether the app wants to be asked when the begin date has come.
    func handover(isHeld: Bool, asksFirst: Bool) -> SessionTaskRequest {
        state.withLock { state in
            var task = TaskRequest(kind: kind)
            if let token = state.token {
                task.resumeData = token
                task.restrict(as: state.originalRequest)
            } else if let request = state.originalRequest {
                task.copyProperties(of: request, cookiesOf: session.configuration)
            }
            // As in Foundation's own sessions, the environment variables apply if the configuration sets no proxy.
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

    /// The reason why the task fails without being sent to the service. Nil if there is no such reason, or if the
    /// service already has the task.
    var flaw: URLError? {
        let (id, hasPlan, url, isOpen, isForCacheOnly) = state.withLock { state in
            (
                state.handover.id, state.token != nil || state.originalRequest != nil, state.originalRequest?.url,
                state.descriptor != nil, state.originalRequest?.isForCacheOnly(in: session.configuration) == true
            )
        }
        guard id == nil, !isOpen || isForCacheOnly else { return nil }
        // FoundationNetworking fails with the same error for unusable resume data.
        guard hasPlan else { return .make(NSURLErrorUnsupportedURL, "unsupported URL") }
        if isForCacheOnly { return .notInCache(url) }
        if let source, !FileManager.default.fileExists(atPath: source.path(percentEncoded: false)) {
            return .make(NSURLErrorFileDoesNotExist, "The file to upload does not exist.", url: url)
        }
        return nil
    }

    /// Returns the form of the priority that is sent to the service.
    static func told(_ priority: Float) -> Double {
        Double(priority.limited(to: 0...1, or: URLSessionTask.defaultPriority))
    }

    private static func known(_ count: Int64) -> Int64? { count >= 0 ? count : nil }

    /// Prepares the task to restart from its request, because its resume data cannot be used. Returns false for an
    /// upload, because only the service knew the upload's file.
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
    /// Copies the properties of `request` that concern the transfer.
    mutating func copyProperties(of request: URLRequest, cookiesOf configuration: BackgroundConfiguration) {
        url = request.url?.absoluteString
        method = request.httpMethod
        var fields = request.fields
        if fields.first("Cookie") == nil, let cookies = configuration.storedCookies(for: request) {
            fields.append(HeaderField(name: "Cookie", value: cookies))
        }
        if kind == .download, let content = request.content {
            body = content
            // Foundation sends the same content type for a body without one.
            if fields.first("Content-Type") == nil, request.httpMethod == "POST" {
                fields.append(HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded"))
            }
        }
        headers = fields.isEmpty ? nil : fields
        // If the app does not accept cookies of responses, the service must not send these cookies at redirects either.
        if configuration.httpShouldSetCookies, request.httpShouldHandleCookies, configuration.httpCookieStorage != nil,
            configuration.httpCookieAcceptPolicy != .never
        {
            handlesCookies = true
        }
        // A timeout of 60 s is the default of a request. A request with the default uses the session's timeout.
        if request.timeoutInterval != 60, request.timeoutInterval > 0 {
            idleTimeout = request.finiteTimeout
        }
        restrict(as: request)
    }

    /// Applies the restrictions of the request: whether it may use a cellular network, and whether it yields to other
    /// traffic. A request can forbid access that its session allows, but it cannot allow access that its session forbids.
    fileprivate mutating func restrict(as request: URLRequest?) {
        if request?.allowsCellularAccess == false { allowsCellularAccess = false }
        if request?.networkServiceType == .background { yields = true }
    }
}

extension URLRequest {
    /// The request's body, or nil if the request has none. A body stream that exceeds the size limit is read only until
    /// the limit is exceeded.
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
