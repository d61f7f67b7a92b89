import Foundation
import Nightshift
import Synchronization

/// One background session and its delegate.
final class ProbeSession: NSObject, Sendable {
    let identifier: String
    let conduct: Conduct
    private let state = Mutex(State())

    private struct State {
        var session: URLSession?
        var completions: [@Sendable () -> Void] = []
    }

    init(_ order: SessionOrder, _ conduct: Conduct) {
        identifier = order.identifier
        self.conduct = conduct
        super.init()
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        if let timeout = order.resourceTimeout { configuration.timeoutIntervalForResource = timeout }
        if let connections = order.connections { configuration.httpMaximumConnectionsPerHost = connections }
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        state.withLock { $0.session = session }
        session.getAllTasks { [self] tasks in
            for task in tasks { note(.known, task) { $0.priority = task.priority } }
        }
    }

    func keep(_ completion: @escaping @Sendable () -> Void) {
        state.withLock { $0.completions.append(completion) }
    }

    func begin(at point: Point) {
        guard let session = state.withLock(\.session) else { return }
        for order in conduct.orders.transfers where order.session == identifier && order.point == point {
            guard let url = URL(string: order.url) else { continue }
            let task: URLSessionTask
            if let source = order.source {
                var request = URLRequest(url: url)
                request.httpMethod = "PUT"
                task = session.uploadTask(with: request, fromFile: URL(filePath: source))
            } else {
                task = session.downloadTask(with: url)
            }
            task.taskDescription = order.description
            if let priority = order.priority { task.priority = priority }
            if let delay = order.beginsIn { task.earliestBeginDate = Date(timeIntervalSinceNow: delay) }
            note(.made, task)
            task.resume()
            if order.removesSource == true, let source = order.source { unlink(source) }
        }
    }

    /// Continues from the resume data of another task.
    func resume(_ data: Data, as description: String?) {
        guard let task = state.withLock(\.session)?.downloadTask(withResumeData: data) else { return }
        task.taskDescription = description
        note(.made, task)
        task.resume()
    }

    func complete() {
        let completions = state.withLock { state in
            defer { state.completions = [] }
            return state.completions
        }
        if conduct.orders.completes { for completion in completions { completion() } }
    }

    func note(_ event: Sighting.Event, _ task: URLSessionTask? = nil, _ fill: (inout Sighting) -> Void = { _ in }) {
        conduct.journal.note(event) { sighting in
            sighting.session = identifier
            sighting.task = task?.taskIdentifier
            sighting.description = task?.taskDescription
            fill(&sighting)
        }
    }
}
