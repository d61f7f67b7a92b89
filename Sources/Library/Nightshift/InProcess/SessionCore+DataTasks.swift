import Executors
import Foundation
import FoundationNetworking
import Synchronization

/// Loads data tasks. Data tasks end with this process, and the service does not know them.
extension SessionCore {
    func dataTask(with request: URLRequest) -> BackgroundDataTask {
        let task = BackgroundDataTask(self, identifier: newIdentifier(), request: request)
        state.withLock { state in
            state.machine.addDataTask(task.taskIdentifier)
            state.dataTasks[task.taskIdentifier] = task
        }
        return task
    }

    /// The data tasks that have not ended, in the order of their creation.
    var openDataTasks: [BackgroundDataTask] {
        state.withLock { state in
            state.dataTasks.values.filter { $0.state != .completed }.sorted { $0.taskIdentifier < $1.taskIdentifier }
        }
    }

    /// Starts loading a task that was resumed for the first time.
    func load(_ task: BackgroundDataTask) {
        if let failure { return end(task, error: failure) }
        let request = task.content.withLock(\.request)
        if request.isForCacheOnly(in: configuration) { return end(task, error: .notInCache(request.url)) }
        currentLoader?.begin(task)
    }

    func cancelLoading(_ task: BackgroundDataTask) {
        if task.content.withLock({ $0.loading != nil }), let loader = state.withLock(\.loader) {
            loader.cancel(task)
        } else {
            end(task, error: .make(NSURLErrorCancelled, "cancelled", url: task.originalRequest?.url))
        }
    }

    private var currentLoader: DataTaskLoader? {
        state.withLock { state in
            guard !state.machine.life.isOver else { return nil }
            if let loader = state.loader { return loader }
            let loader = DataTaskLoader(self)
            state.loader = loader
            return loader
        }
    }

    /// Ends a data task that is not being loaded.
    private func end(_ task: BackgroundDataTask, error: URLError) {
        events.add { [self] in
            guard state.withLock({ $0.dataTasks[task.taskIdentifier] != nil }) else { return }
            ended(task, error: error)
        }
    }

    /// Ends a data task. This method notifies the delegate and then releases the task. It must not be called on the
    /// delegate queue.
    func ended(_ task: BackgroundDataTask, error: (any Error)?) {
        let isFirst = task.content.withLock { content in
            guard content.control.end() else { return false }
            content.error = error
            content.loading = nil
            return true
        }
        guard isFirst else { return }
        callDelegate { session, delegate in
            (delegate as? any URLSessionTaskDelegate)?.urlSession(session, task: task, didCompleteWithError: error)
        }
        forget(task)
    }

    func forget(_ task: BackgroundDataTask) {
        apply { state in
            state.dataTasks[task.taskIdentifier] = nil
            return state.machine.removeDataTask(task.taskIdentifier)
        }
    }
}
