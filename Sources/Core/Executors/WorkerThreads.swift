import Dispatch
import Synchronization

/// Threads for calls that block, such as those of disks. A thread is started when work arrives and no thread is idle. A
/// thread that stays idle for a few seconds ends.
final class WorkerThreads: Sendable {
    typealias Work = @Sendable () -> Void

    /// An idle thread. The work is set before the semaphore is signalled.
    private final class Worker: Sendable {
        struct Next: Sendable {
            var work: Work?
        }

        let next = Mutex(Next())
        let semaphore = DispatchSemaphore(value: 0)
    }

    static let shared = WorkerThreads()

    private let idle = Mutex<[Worker]>([])
    private let usesDispatch = Atomic(false)
    /// The time after which an idle thread ends.
    private static let idleTime = DispatchTimeInterval.seconds(5)

    /// Uses the threads of libdispatch from now on.
    func useDispatch() {
        usesDispatch.store(true, ordering: .relaxed)
    }

    /// Runs `work` on a thread of its own.
    func run(_ work: @escaping Work) {
        guard !usesDispatch.load(ordering: .relaxed) else { return DispatchQueue.global().async(execute: work) }
        // The thread that became idle last is used first, so that the others can end.
        if let worker = idle.withLock({ $0.popLast() }) {
            worker.next.withLock { $0.work = work }
            worker.semaphore.signal()
        } else if !DetachedThread.start("nightshift-work", { self.serve(work) }) {
            // The system currently has too many threads. This uses libdispatch instead, which has its own.
            DispatchQueue.global().async(execute: work)
        }
    }

    private func serve(_ first: @escaping Work) {
        first()
        let worker = Worker()
        while let work = next(worker) { work() }
    }

    /// Waits for the next work of a thread. Returns nil if the thread has been idle for long enough.
    private func next(_ worker: Worker) -> Work? {
        idle.withLock { $0.append(worker) }
        if worker.semaphore.wait(timeout: .now() + Self.idleTime) == .timedOut {
            let isIdle = idle.withLock { workers in
                guard let index = workers.firstIndex(where: { $0 === worker }) else { return false }
                workers.remove(at: index)
                return true
            }
            if isIdle { return nil }
            // Work was assigned at the last moment.
            worker.semaphore.wait()
        }
        return worker.next.withLock { next in
            defer { next.work = nil }
            return next.work
        }
    }
}
