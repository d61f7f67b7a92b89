import Executors
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Replaces the request of a task.
extension SessionCore {
    func retarget(_ task: TaskCore, to request: URLRequest) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            requests.add { [self] in
                continuation.resume(with: Result { try replaceRequest(of: task, by: request) })
            }
        }
    }

    private func replaceRequest(of task: TaskCore, by request: URLRequest) throws {
        do {
            if let error = failure { throw error }
            guard let url = request.url else { throw URLError.make(NSURLErrorUnsupportedURL, "unsupported URL") }
            guard let id = try idToRetarget(task, request) else { return }
            var named = TaskRequest()
            named.copyProperties(of: request, cookiesOf: configuration)
            let note = RequestNote(request)?.text
            let body = RetargetRequest(url: url.absoluteString, headers: named.headers, clientData: note)
            try connection.notify(.retarget(id, body), timeout: Self.requestTimeout)
            task.replaceRequest(by: request, note: note)
        } catch let problem as Problem {
            throw URLError.make(problem.urlErrorCode, problem.detail ?? problem.title, url: request.url)
        } catch let trouble as ServiceUnreachable {
            throw URLError.make(NSURLErrorBackgroundSessionWasDisconnected, trouble.message, url: request.url)
        }
    }

    /// Returns the service's id of the task, or nil if only this process has the task. In the latter case, the request
    /// is already replaced.
    private func idToRetarget(_ task: TaskCore, _ request: URLRequest) throws -> TaskID? {
        try task.turn.run(within: Self.requestTimeout) { try idToRetarget(task, request, timeout: $0) }
    }

    private func idToRetarget(_ task: TaskCore, _ request: URLRequest, timeout: Duration) throws -> TaskID? {
        let (handover, hasToken) = task.state.withLock { ($0.handover, $0.token != nil) }
        guard handover.control.isOpen else {
            throw URLError.make(NSURLErrorCancelled, "The task has already ended.", url: request.url)
        }
        if handover.copy == .absent && !hasToken {
            task.replaceRequest(by: request, note: RequestNote(request)?.text)
            return nil
        }
        // The bytes to continue from are stored in the service, so the service must have the task first.
        if handover.id == nil { try handOver(task, isHeld: handover.control.isSuspended, timeout: timeout) }
        return task.state.withLock(\.handover.id)
    }
}
