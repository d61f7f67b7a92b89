/// Work for an actor, left for it by callbacks and other threads that cannot wait.
///
/// Nothing that comes before ``finish()`` is lost. Each job has a task of its own, made in the order in which they came: one
/// that waits keeps no other from its turn, and two that come together may reach the actor in either order. Copies are the
/// same mailbox.
package struct Mailbox<Owner: Actor>: Sendable {
    package typealias Job = @Sendable (Owner) async -> Void

    private let jobs: AsyncStream<Job>
    private let continuation: AsyncStream<Job>.Continuation

    package init() {
        (jobs, continuation) = AsyncStream.makeStream()
    }

    /// Leaves a job; from any thread. Behind ``finish()`` it is dropped.
    package func yield(_ job: @escaping Job) {
        continuation.yield(job)
    }

    /// Lets ``run(by:beside:)`` return once the jobs that are there have begun.
    package func finish() {
        continuation.finish()
    }

    /// Does what is left, until ``finish()``; then cancels what still runs and waits for its end. To be called once.
    ///
    /// - Parameter companions: what the owner does for as long, each in a task of its own; they begin first.
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
