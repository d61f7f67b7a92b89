public import Foundation
public import FoundationNetworking
import FoundationSessions
import Synchronization

// What Foundation on Linux lacks of `URLSession`: the body of a response as an asynchronous sequence.
extension URLSession {
    /// The bytes of a response's body, as they come.
    ///
    /// For one reader: bytes that one iterator has taken no other one gets.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        /// The task that loads them. Cancelling it ends the sequence with `URLError.cancelled`.
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

            /// - Throws: a `URLError` where the body breaks off, or the task that reads it is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                while position == piece.count {
                    guard let next = try await load.body.next(isolation: actor) else { return nil }
                    (piece, position) = (next, 0)
                }
                defer { position += 1 }
                return piece[position]
            }
        }

        /// The lines of the body as UTF-8, without their ends; empty ones are left out, as Apple's `AsyncLineSequence` does.
        public var lines: AsyncLines { AsyncLines(bytes: self) }
    }

    /// The lines of a response's body.
    public struct AsyncLines: AsyncSequence, Sendable {
        public typealias Element = String

        fileprivate let bytes: AsyncBytes

        public func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes.makeAsyncIterator()) }

        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var bytes: AsyncBytes.Iterator

            /// - Throws: as the bytes do.
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

    /// Loads a URL, and returns when the response's head has come. As ``bytes(for:delegate:)``.
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    /// Loads a request, and returns when the response's head has come. The load ends with this process.
    ///
    /// FoundationNetworking does not wait for a reader: what has come and is not read yet is in memory. Background sessions have no such
    /// method, on Apple's systems either: there it ends the process, with Apple's sentence.
    ///
    /// - Parameter delegate: asked about redirects and credentials; held until the task ends.
    /// - Throws: a `URLError` where no response comes.
    public func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        if self is BackgroundURLSession { fatalError(Refusal.completionHandler) }
        let body = ResponseBody(delegate: delegate)
        // FoundationNetworking gives bytes to a session's delegate only.
        let session = URLSession(inThisProcess: configuration, delegate: body, delegateQueue: nil)
        let task = session.dataTask(with: request)
        session.finishTasksAndInvalidate()
        body.task.withLock { $0 = task }
        let response = try await body.begin()
        return (AsyncBytes(task: task, load: BodyLoad(task: task, body: body)), response)
    }
}
