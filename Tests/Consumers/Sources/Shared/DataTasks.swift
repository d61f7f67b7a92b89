import Foundation
import Harness
import Nightshift

#if canImport(FoundationNetworking) && BESIDE
    import FoundationNetworking
#endif

// Data tasks of background sessions with a delegate, which load only while the app runs.

/// A delegate that records its calls in order, and collects bodies as apps do.
private final class APIClient: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
    // This is unchecked, as in an app, because only the delegate queue changes its state.
    let heard = Outcome<[String]>("the end of a data task")
    let body = Outcome<String>("a body")
    let error = Outcome<NSError>("an error")
    private let disposition: URLSession.ResponseDisposition
    private var buffer = Data()
    private var events: [String] = []

    init(_ disposition: URLSession.ResponseDisposition = .allow) {
        self.disposition = disposition
    }

    func session(_ name: String) -> URLSession {
        let configuration: URLSessionConfiguration = .background(withIdentifier: Origin.identifier(name))
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    private func note(_ event: String) {
        // A body can arrive in any number of parts.
        if events.last != event { events.append(event) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        note("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("data")
        buffer.append(data)
    }

    // One delegate handles all tasks of a session, as in apps. Its downloads do not end here.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        note(error == nil ? "end" : "error")
        if let error { self.error.give(error as NSError) }
        body.give(String(decoding: buffer, as: UTF8.self))
        heard.give(events)
    }
}

func dataTasks() async {
    await situation("a data task with a delegate: response, data, end") {
        let client = APIClient()
        let session = client.session("data")
        let task = session.dataTask(with: Origin.file("data"))
        try expectEqual(task.state, .suspended)
        task.resume()
        try expectEqual(try await client.heard.value(), ["response 200", "data", "end"])
        try expectEqual(try await client.body.value(), Origin.text(of: "data"))
        try expectEqual((task.response as? HTTPURLResponse)?.statusCode, 200)
        session.finishTasksAndInvalidate()
    }
    await situation("a data task that posts JSON") {
        let client = APIClient()
        let session = client.session("data-post")
        var request = URLRequest(url: Origin.url("/api"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(["name": "Ada"])
        session.dataTask(with: request).resume()
        try expectEqual(try await client.body.value(), "POST 14 {\"name\":\"Ada\"}")
        session.finishTasksAndInvalidate()
    }
    await situation("a data task that is listed among the open tasks and cancelled") {
        let client = APIClient()
        let session = client.session("data-open")
        let task = session.dataTask(with: Origin.endless("data-open"))
        let download = session.downloadTask(with: Origin.endless("data-open-download"))
        task.resume()
        download.resume()
        let counted = Outcome<[Int]>("the tasks")
        session.getTasksWithCompletionHandler { data, uploads, downloads in
            counted.give([data.count, uploads.count, downloads.count])
        }
        try expectEqual(try await counted.value(), [1, 0, 1])
        let open = await session.allTasks
        try expect(open.contains { $0 === task } && open.contains { $0 === download }, "\(open)")
        try expect(task.taskIdentifier != download.taskIdentifier, "two tasks have one number")
        task.cancel()
        let error = try await client.error.value()
        try expectEqual(error.domain, NSURLErrorDomain)
        try expectEqual(error.code, NSURLErrorCancelled)
        let (data, _, downloads) = await session.tasks
        try expectEqual([data.count, downloads.count], [0, 1])
        session.invalidateAndCancel()
    }
    await situation("a data task whose response is refused") {
        let client = APIClient(.cancel)
        let session = client.session("data-refused")
        session.dataTask(with: Origin.file("data-refused")).resume()
        try expectEqual(try await client.error.value().code, NSURLErrorCancelled)
        try expectEqual(try await client.heard.value(), ["response 200", "error"])
        session.finishTasksAndInvalidate()
    }
    await situation("a data task with a completion handler, in a default session") {
        let text = Outcome<String>("a body")
        let task = URLSession(configuration: .default).dataTask(with: Origin.file("handler")) { data, response, error in
            guard let data, (response as? HTTPURLResponse)?.statusCode == 200 else {
                return text.give("\(String(describing: error))")
            }
            text.give(String(decoding: data, as: UTF8.self))
        }
        task.resume()
        try expectEqual(try await text.value(), Origin.text(of: "handler"))
    }
}
