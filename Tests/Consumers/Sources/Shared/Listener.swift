import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

/// A session delegate as in apps. Tests can wait for its calls.
final class Listener: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, URLSessionBackgroundDelegate,
    @unchecked Sendable
{
    // This is unchecked, as in an app, because only the delegate queue changes its state.
    let text = Outcome<String>("the end of a task")
    let error = Outcome<NSError>("an error")
    let status = Outcome<Int>("a status")
    let invalid = Outcome<Bool>("the end of the session")
    private var finished: String?
    private var received = Data()

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        finished = try? String(contentsOf: location, encoding: .utf8)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        received.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        if let error {
            self.error.give(error as NSError)
        } else {
            status.give((task.response as? HTTPURLResponse)?.statusCode ?? 0)
            text.give(finished ?? String(decoding: received, as: UTF8.self))
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: Error?) {
        invalid.give(error == nil)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}
}

/// Expects that the session is a background session, and delivers a file to its delegate.
func fetches(_ session: URLSession, _ listener: Listener, line: UInt = #line) async throws {
    try expect(session is BackgroundURLSession, "a \(type(of: session)) was made", line: line)
    let name = "file-\(line)"
    session.downloadTask(with: Origin.file(name)).resume()
    try expectEqual(try await listener.text.value(), Origin.text(of: name), line: line)
    session.finishTasksAndInvalidate()
    try expect(try await listener.invalid.value(), "the session ended with an error", line: line)
}
