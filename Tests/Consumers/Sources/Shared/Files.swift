import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Files that apps provide and receive: for uploads, from resume data, and decoded.

/// A delegate that pauses like download managers, and answers challenges with its session's credential storage.
private final class PausingDelegate: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // This is unchecked because NSObject is not Sendable on Linux. All its members are immutable and Sendable.
    let listener = Listener()
    let progress = Outcome<Int64>("progress")
    let offset = Outcome<Int64>("an offset")
    let proposed = Outcome<String>("a proposed credential")

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        progress.give(totalBytesWritten)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        offset.give(fileOffset)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        proposed.give(challenge.proposedCredential?.user ?? "nobody")
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        listener.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        listener.urlSession(session, task: task, didCompleteWithError: error)
    }
}

func files() async {
    await situation("an upload whose file is removed after resume()") {
        let listener = Listener()
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("removed")), delegate: listener,
            delegateQueue: nil)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Origin.identifier("removed.txt"))
        try Data("a report".utf8).write(to: file)
        var request = URLRequest(url: Origin.url("/inbox"))
        request.httpMethod = "PUT"
        session.uploadTask(with: request, fromFile: file).resume()
        try FileManager.default.removeItem(at: file)
        try expectEqual(try await listener.text.value(), "PUT 8 a report")
        session.finishTasksAndInvalidate()
    }
    await situation("a paused download whose resume data names an existing file") {
        let delegate = PausingDelegate()
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("paused")), delegate: delegate,
            delegateQueue: nil)
        let task = session.downloadTask(with: Origin.url("/halves/paused"))
        task.resume()
        _ = try await delegate.progress.value()
        let paused = Outcome<Data?>("resume data")
        task.cancel(byProducingResumeData: { paused.give($0) })
        let data = try unwrap(try await paused.value(), "resume data")
        let list = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        let name = try unwrap(list?["NSURLSessionResumeInfoTempFileName"] as? String, "name of a file")
        try expect(FileManager.default.fileExists(atPath: NSTemporaryDirectory() + name), "\(name) is not there")
        // This waits, so that the calls for the first task do not mix with those for the second.
        _ = try await delegate.listener.error.value()
        session.downloadTask(withResumeData: data).resume()
        try expectEqual(
            try await delegate.listener.text.value(), String(repeating: "This is paused.\n", count: 100_000))
        try expect(try await delegate.offset.value() > 0, "it began at 0")
        session.finishTasksAndInvalidate()
    }
    await situation("a body in gzip is delivered decoded") {
        let listener = Listener()
        let session = URLSession(
            configuration: .background(withIdentifier: Origin.identifier("gzip")), delegate: listener,
            delegateQueue: nil)
        session.downloadTask(with: Origin.url("/gzip/packed")).resume()
        try expectEqual(try await listener.text.value(), Origin.text(of: "packed"))
        session.finishTasksAndInvalidate()
    }
    await situation("the default credential of the session's storage") {
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
            URLCredential(user: "eve", password: "apple", persistence: .forSession),
            for: URLProtectionSpace(
                host: "127.0.0.1", port: Int(Origin.port) ?? 0, protocol: NSURLProtectionSpaceHTTP, realm: "consumers",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic))
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("default-user"))
        configuration.urlCredentialStorage = storage
        let delegate = PausingDelegate()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        session.downloadTask(with: Origin.url("/basic/eve/apple/storage")).resume()
        try expectEqual(try await delegate.listener.text.value(), Origin.text(of: "storage"))
        try expectEqual(try await delegate.proposed.value(), "eve")
        session.finishTasksAndInvalidate()
    }
}
