#if compiler(>=6.3) && compiler(<6.4)
    import Dispatch
    import Foundation
    import Synchronization
    @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

    /// The threads that run Swift's jobs, instead of those of libdispatch.
    ///
    /// libdispatch wakes the process each second to check its worker threads, for as long as the process runs. These
    /// threads sleep until there is a job. A thread is started when a job arrives and no thread is idle.
    final class JobPool: TaskExecutor, SchedulingExecutor {
        private struct State {
            var jobs = Fifo<UnownedJob>()
            /// The idle threads, each by the semaphore on which it waits. The last one is woken first.
            var idle: [DispatchSemaphore] = []
            var threads = 0
        }

        private enum Wake {
            case none
            case signal(DispatchSemaphore)
            case start(isFirst: Bool)
        }

        static let shared = JobPool()

        private let state = Mutex(State())
        private let limit = min(max(ProcessInfo.processInfo.activeProcessorCount, 2), 4)

        func enqueue(_ job: consuming ExecutorJob) {
            enqueue(UnownedJob(job))
        }

        func enqueue(_ job: UnownedJob) {
            let wake = state.withLock { state -> Wake in
                state.jobs.append(job)
                if let semaphore = state.idle.popLast() { return .signal(semaphore) }
                guard state.threads < limit else { return .none }
                state.threads += 1
                return .start(isFirst: state.threads == 1)
            }
            switch wake {
            case .none: break
            case .signal(let semaphore): semaphore.signal()
            case .start(let isFirst): start(isFirst: isFirst)
            }
        }

        private func start(isFirst: Bool) {
            guard !isFirst else { return DetachedThread.startWhenPossible(Self.name) { self.serve() } }
            // If the system currently has too many threads, the other threads run the job.
            guard !DetachedThread.start(Self.name, { self.serve() }) else { return }
            state.withLock { $0.threads -= 1 }
        }

        private static let name = "nightshift-jobs"

        private func serve() {
            let semaphore = DispatchSemaphore(value: 0)
            while true {
                let job = state.withLock { state in
                    let job = state.jobs.popFirst()
                    if job == nil { state.idle.append(semaphore) }
                    return job
                }
                if let job {
                    job.runSynchronously(on: .none)
                } else {
                    semaphore.wait()
                }
            }
        }

        func enqueue<C: Clock>(
            _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
        ) {
            enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock)
        }

        func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
            schedule(UnownedJob(job), at: instant, clock)
        }

        private func schedule<C: Clock>(_ job: UnownedJob, at instant: C.Instant, _ clock: C) {
            guard let remaining = clock.now.duration(to: instant) as? Duration else {
                preconditionFailure("A clock whose durations have another type sleeps by itself.")
            }
            guard remaining > .zero else { return enqueue(job) }
            EventThread.shared.add(after: remaining) {
                // A clock that stands still while the machine sleeps has not reached the time yet.
                self.schedule(job, at: instant, clock)
            }
        }
    }

    /// The executor of the main actor: a queue like any other, because nothing in the service needs the main thread.
    final class MainQueue: MainExecutor {
        private let queue = WorkQueue()

        func run() throws {}

        func stop() {}

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.add { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    struct ServiceExecutors: ExecutorFactory {
        static let mainExecutor: any MainExecutor = MainQueue()
        static var defaultExecutor: any TaskExecutor { JobPool.shared }

        static func install() {
            _createExecutors(factory: Self.self)
        }
    }

    extension UnownedSerialExecutor {
        /// The executor of jobs that belong to no actor, as the runtime represents it.
        fileprivate static var none: UnownedSerialExecutor { unsafeBitCast((0, 0), to: UnownedSerialExecutor.self) }
    }
#endif
