/// A queue of jobs for an actor. Callbacks and threads that cannot wait add jobs to it.
///
/// A job added before ``finish()`` is never lost. Each job runs in a separate task, and the tasks are created in the
/// order of arrival. A waiting job does not block others. Two jobs that arrive together may reach the actor in either
/// order. Copies share one queue.
package struct Mailbox<Owner: Actor>: Sendable {
    package typealias Job = @Sendable (Owner) async -> Void

    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation

    package init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Adds a job. Callers may use any thread. After ``finish()``, the job is dropped.
    package func yield(_ job: @escaping Job) {
        continuation.yield(job)
    }

    /// Lets ``run(by:beside:)`` return after the existing jobs have begun.
    package func finish() {
        continuation.finish()
    }

    /// Runs jobs until ``finish()``, then cancels the running jobs and waits for their end. Callers must call this
    /// once.
    ///
    /// - Parameter companions: jobs that run for the same period, each in a separate task. They begin first.
    package func run(by owner: isolated Owner, beside companions: [Job]) async {
        await withDiscardingTaskGroup { group in
            for companion in companions {
                group.addTask { await companion(owner) }
            }
            for await job in jobs {
                group.addTask { await job(owner) }
            }
            group.cancelAll()
        }
    }
}
