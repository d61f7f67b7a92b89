public import Foundation
public import FoundationNetworking
import FoundationSessions
import Synchronization

// This extension provides the body of a response as an asynchronous sequence. Foundation's `URLSession` lacks these
// methods on Linux.
extension URLSession {
    /// The bytes of a response's body, in the order of their arrival.
    ///
    /// Use only one iterator at a time. Iterators share the bytes: each byte is returned by only one iterator.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        /// The task that loads the bytes. If you cancel the task, the sequence ends with `URLError.cancelled`.
        public let task: URLSessionDataTask
        fileprivate let load: BodyLoad

        public func makeAsyncIterator() -> Iterator { Iterator(load: load) }

        public struct Iterator: AsyncIteratorProtocol {
            private let load: BodyLoad
            private var piece: [UInt8] = []
            private var position = 0

            fileprivate init(load: BodyLoad) {
                self.load = load
            }

            /// Returns the next byte, or nil at the end of the body.
            ///
            /// - Throws: A `URLError` if the body is incomplete or the reading task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                while position == piece.count {
                    guard let next = try await load.body.next(isolation: actor) else { return nil }
                    (piece, position) = (next, 0)
                }
                defer { position += 1 }
                return piece[position]
            }
        }

        /// The lines of the body as UTF-8, without line terminators. Empty lines are omitted, as in Apple's
        /// `AsyncLineSequence`.
        public var lines: AsyncLines { AsyncLines(bytes: self) }
    }

    /// The lines of a response's body.
    public struct AsyncLines: AsyncSequence, Sendable {
        public typealias Element = String

        fileprivate let bytes: AsyncBytes

        public func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes.makeAsyncIterator()) }

        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var bytes: AsyncBytes.Iterator

            /// Returns the next line, or nil at the end of the body.
            ///
            /// - Throws: The same errors as the iterator of the bytes.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
                var line: [UInt8] = []
                while let byte = try await bytes.next(isolation: actor) {
                    guard byte == 0x0a || byte == 0x0d else {
                        line.append(byte)
                        continue
                    }
                    if !line.isEmpty { break }
                }
                return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
            }
        }
    }

    /// Loads a URL, and returns when the head of the response has arrived. See ``bytes(for:delegate:)``.
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    /// Loads a request, and returns when the head of the response has arrived. The load ends with this process.
    ///
    /// FoundationNetworking does not slow down for a slow reader. Bytes that have arrived but have not been read are
    /// kept in memory. Background sessions do not support this method. Calling it on a background session ends the
    /// process with Apple's message, as on Apple's systems.
    ///
    /// - Parameter delegate: The delegate for redirects and credentials. It is retained until the task ends.
    /// - Throws: A `URLError` if no response arrives.
    public func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        if self is BackgroundURLSession { fatalError(SessionRefusal.completionHandler) }
        let body = ResponseBody(delegate: delegate)
        // FoundationNetworking passes bytes only to the delegate of a session.
        let session = URLSession(inThisProcess: configuration, delegate: body, delegateQueue: nil)
        let task = session.dataTask(with: request)
        session.finishTasksAndInvalidate()
        body.task.withLock { $0 = task }
        let response = try await body.begin()
        return (AsyncBytes(task: task, load: BodyLoad(task: task, body: body)), response)
    }
}
