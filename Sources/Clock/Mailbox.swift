/// A queue of jobs for an actor, filled by callbacks and other threads that cannot wait.
///
/// Jobs added before ``finish()`` are never lost. Each job has a task of its own, created in the order of arrival. A
/// waiting job does not block others, and two jobs that arrive together may reach the actor in either order. Copies
/// share the same queue.
package struct Mailbox<Owner: Actor>: Sendable {
    package typealias Job = @Sendable (Owner) async -> Void

    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation

    package init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Adds a job, from any thread. After ``finish()`` it is dropped.
    package func yield(_ job: @escaping Job) {
        continuation.yield(job)
    }

    /// Lets ``run(by:beside:)`` return once the existing jobs have begun.
    package func finish() {
        continuation.finish()
    }

    /// Runs jobs until ``finish()``, then cancels running ones and waits for their end. Call it once.
    ///
    /// - Parameter companions: jobs that run for the same period, each in a task of its own. They begin first.
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
