import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Uses of background sessions in apps.

private func session(_ name: String, _ delegate: URLSessionDelegate) -> URLSession {
    let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier(name))
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
}

private final class PasswordDelegate: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    let listener = Listener()
    let failure = Outcome<HTTPURLResponse>("the response that asked")

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if let response = challenge.failureResponse as? HTTPURLResponse { failure.give(response) }
        guard challenge.previousFailureCount == 0 else { return completionHandler(.cancelAuthenticationChallenge, nil) }
        completionHandler(
            .useCredential, URLCredential(user: "ada", password: "byron", persistence: .forSession))
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        listener.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        listener.urlSession(session, task: task, didCompleteWithError: error)
    }
}

func transfers() async {
    await situation("a status other than success is a result") {
        let listener = Listener()
        let session = session("status", listener)
        session.downloadTask(with: Origin.url("/status/404")).resume()
        try expectEqual(try await listener.status.value(), 404)
        try expectEqual(try await listener.text.value(), "a status")
        session.finishTasksAndInvalidate()
    }
    await situation("a redirect") {
        let listener = Listener()
        let session = session("redirect", listener)
        let task = session.downloadTask(with: Origin.url("/redirect/moved"))
        task.resume()
        try expectEqual(try await listener.text.value(), Origin.text(of: "moved"))
        try expectEqual(task.currentRequest?.url, Origin.file("moved"))
        try expectEqual(task.originalRequest?.url, Origin.url("/redirect/moved"))
        session.finishTasksAndInvalidate()
    }
    await situation("an upload from a file, and its response") {
        let listener = Listener()
        let session = session("upload", listener)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Origin.identifier("upload.txt"))
        try Data("a report".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var request = URLRequest(url: Origin.url("/inbox"))
        request.httpMethod = "POST"
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        session.uploadTask(with: request, fromFile: file).resume()
        try expectEqual(try await listener.text.value(), "POST 8 a report")
        try expectEqual(try await listener.status.value(), 201)
        session.finishTasksAndInvalidate()
    }
    await situation("header fields of the session and of the request") {
        let listener = Listener()
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier("fields"))
        configuration.httpAdditionalHeaders = ["X-App": "session", "X-Session": "yes"]
        let session = URLSession(configuration: configuration, delegate: listener, delegateQueue: nil)
        var request = URLRequest(url: Origin.url("/fields"))
        request.addValue("request", forHTTPHeaderField: "X-App")
        session.downloadTask(with: request).resume()
        let fields = try await listener.text.value().lowercased()
        try expect(fields.contains("x-app: request") && fields.contains("x-session: yes"), fields)
        session.finishTasksAndInvalidate()
    }
    await situation("a password, and the response that requested it") {
        let delegate = PasswordDelegate()
        let session = session("password", delegate)
        session.downloadTask(with: Origin.url("/basic/ada/byron/secret")).resume()
        try expectEqual(try await delegate.listener.text.value(), Origin.text(of: "secret"))
        let response = try await delegate.failure.value()
        try expectEqual(response.statusCode, 401)
        try expectEqual(response.value(forHTTPHeaderField: "X-Reason"), "nobody")
        session.finishTasksAndInvalidate()
    }
    await situation("a cancelled task") {
        let listener = Listener()
        let session = session("cancel", listener)
        let task = session.downloadTask(with: Origin.endless("cancel"))
        task.resume()
        task.cancel()
        let error = try await listener.error.value()
        try expectEqual(error.domain, NSURLErrorDomain)
        try expectEqual(error.code, NSURLErrorCancelled)
        session.finishTasksAndInvalidate()
    }
    await situation("the error of a cancelled task is a URLError") {
        let listener = Listener()
        let session = session("cancel-code", listener)
        let task = session.downloadTask(with: Origin.endless("cancel-code"))
        task.resume()
        task.cancel(byProducingResumeData: { _ in })
        _ = try await listener.error.value()
        try expectEqual((task.error as? URLError)?.code, .cancelled)
        session.finishTasksAndInvalidate()
    }
    await situation("every open task, by handler and asynchronously") {
        let listener = Listener()
        let session = session("open-tasks", listener)
        let task = session.downloadTask(with: Origin.endless("open-tasks"))
        task.resume()
        let counted = Outcome<[Int]>("the tasks")
        session.getTasksWithCompletionHandler { data, uploads, downloads in
            counted.give([data.count, uploads.count, downloads.count])
        }
        try expectEqual(try await counted.value(), [0, 0, 1])
        let open = await session.allTasks
        try expect(open.count == 1 && open[0] === task, "\(open)")
        session.invalidateAndCancel()
    }
    await situation("no task remains after the session was invalidated and cancelled") {
        let listener = Listener()
        let session = session("none-left", listener)
        session.downloadTask(with: Origin.endless("none-left-1")).resume()
        _ = session.downloadTask(with: Origin.endless("none-left-2"))
        session.invalidateAndCancel()
        let left = Outcome<Int>("the tasks")
        session.getAllTasks { left.give($0.count) }
        try expectEqual(try await left.value(), 0)
        try expectEqual(try await listener.error.value().code, NSURLErrorCancelled)
        try expect(try await listener.invalid.value(), "the session ended with an error")
    }
    await situation("an identifier can be used again after its session has ended") {
        let first = Listener()
        let ended = session("reused", first)
        ended.invalidateAndCancel()
        try expect(try await first.invalid.value(), "the session ended with an error")
        let second = Listener()
        try await fetches(session("reused", second), second)
    }
    await situation("suspended and resumed") {
        let listener = Listener()
        let session = session("suspended", listener)
        let task = session.downloadTask(with: Origin.file("suspended"))
        try expectEqual(task.state, .suspended)
        task.resume()
        task.suspend()
        task.resume()
        try expectEqual(try await listener.text.value(), Origin.text(of: "suspended"))
        session.finishTasksAndInvalidate()
    }
    await situation("the keys of errors by Apple's names") {
        try expectEqual(NSURLSessionDownloadTaskResumeData, "NSURLSessionDownloadTaskResumeData")
        try expectEqual(NSURLErrorBackgroundTaskCancelledReasonKey, "NSURLErrorBackgroundTaskCancelledReasonKey")
        let error = URLError(.cancelled)
        try expect(error.downloadTaskResumeData == nil && error.backgroundTaskCancelledReason == nil, "there are some")
    }
    await situation("a background task around work") {
        DispatchQueue.global().sync {
            let task = Application.shared.beginBackgroundTask(withName: "consumer") {}
            Application.shared.endBackgroundTask(task)
        }
    }
}
