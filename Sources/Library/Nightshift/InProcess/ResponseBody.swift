import Foundation
import FoundationNetworking
import Synchronization

/// An object that keeps a body's load running. The load is cancelled when the last reader releases this object.
final class BodyLoad: Sendable {
    let task: URLSessionDataTask
    let body: ResponseBody

    init(task: URLSessionDataTask, body: ResponseBody) {
        self.task = task
        self.body = body
    }

    deinit { task.cancel() }
}

/// The body of one response, passed from FoundationNetworking to its reader.
final class ResponseBody: NSObject, URLSessionDataDelegate, Sendable {
    private let delegate: (any URLSessionTaskDelegate)?
    let task = Mutex<URLSessionDataTask?>(nil)
    private let state = Mutex(State())

    private struct State {
        /// A response that may be followed by a challenge. FoundationNetworking asks for credentials only after the
        /// body.
        var held: URLResponse?
        /// The bytes that have not been read yet.
        var bytes: [UInt8] = []
        var end: Result<Void, any Error>?
        var responseReader: CheckedContinuation<URLResponse, any Error>?
        var reader: CheckedContinuation<[UInt8]?, any Error>?
    }

    init(delegate: (any URLSessionTaskDelegate)?) {
        self.delegate = delegate
    }

    func begin() async throws -> URLResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let end = state.withLock { state in
                    if state.end == nil { state.responseReader = continuation }
                    return state.end
                }
                // The load may have been cancelled already.
                if case .failure(let error)? = end { return continuation.resume(throwing: error) }
                task.withLock { $0 }?.resume()
            }
        } onCancel: {
            task.withLock { $0 }?.cancel()
        }
    }

    /// Returns the bytes that arrived since the last call, or nil at the end.
    func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enum Step {
                    case wait
                    case bytes([UInt8])
                    case end(Result<Void, any Error>)
                }
                let step = state.withLock { state -> Step in
                    if !state.bytes.isEmpty {
                        defer { state.bytes = [] }
                        return .bytes(state.bytes)
                    }
                    if let end = state.end { return .end(end) }
                    state.reader = continuation
                    return .wait
                }
                switch step {
                case .wait: break
                case .bytes(let bytes): continuation.resume(returning: bytes)
                case .end(let end): continuation.resume(with: end.map { nil })
                }
            }
        } onCancel: {
            task.withLock { $0 }?.cancel()
        }
    }

    // MARK: - Callbacks of FoundationNetworking, one at a time

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
        if (response as? HTTPURLResponse)?.statusCode == 401 {
            state.withLock { ($0.held, $0.bytes) = (response, []) }
        } else {
            present(response)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard !data.isEmpty else { return }
        let reader = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            guard let reader = state.reader else {
                state.bytes.append(contentsOf: data)
                return nil
            }
            state.reader = nil
            return reader
        }
        reader?.resume(returning: [UInt8](data))
    }

    /// Handles a challenge instead of FoundationNetworking, which hangs if no credential is available and traps on
    /// Digest challenges. In these cases, the 401 response is the result.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let isBasic = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
        guard isBasic, let delegate else {
            return decided(.performDefaultHandling, nil, challenge, task, completionHandler)
        }
        delegate.urlSession(session, task: task, didReceive: challenge) { [self] in
            decided($0, $1, challenge, task, completionHandler)
        }
    }

    private func decided(
        _ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?,
        _ challenge: URLAuthenticationChallenge, _ task: URLSessionTask,
        _ completionHandler: (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let isBasic = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
        switch disposition {
        case .useCredential where isBasic && credential != nil:
            state.withLock { ($0.held, $0.bytes) = (nil, []) }
            completionHandler(.useCredential, credential)
        case .performDefaultHandling
        where isBasic && challenge.proposedCredential != nil && challenge.previousFailureCount == 0:
            state.withLock { ($0.held, $0.bytes) = (nil, []) }
            completionHandler(.useCredential, challenge.proposedCredential)
        case .cancelAuthenticationChallenge:
            completionHandler(.cancelAuthenticationChallenge, nil)
        default:
            end(nil)
            task.cancel()
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let delegate else { return completionHandler(request) }
        delegate.urlSession(
            session, task: task, willPerformHTTPRedirection: response, newRequest: request,
            completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(error)
    }

    /// Ends the body. Only the first call has an effect.
    private func end(_ error: (any Error)?) {
        if error == nil, let held = state.withLock({ $0.held }) { present(held) }
        let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        let (responseReader, reader) = state.withLock { state in
            state.end = state.end ?? end
            defer { (state.responseReader, state.reader) = (nil, nil) }
            return (state.responseReader, state.reader)
        }
        responseReader?.resume(throwing: error ?? URLError(.badServerResponse))
        reader?.resume(with: end.map { nil })
    }

    private func present(_ response: URLResponse) {
        let reader = state.withLock { state in
            defer { (state.held, state.responseReader) = (nil, nil) }
            return state.responseReader
        }
        reader?.resume(returning: response)
    }
}
