/// A queue of calls to other features. The calls run one after the other, in the order of the decisions that caused
/// them, while the caller continues.
///
/// Copies share one queue. When the service stops, the remaining calls are discarded. The features find out at the next
/// start what they have missed.
struct CallSequence: Sendable {
    typealias Call = @Sendable () async -> Void

    private let calls: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation

    init() {
        (calls, continuation) = AsyncStream.makeStream()
    }

    /// Appends a call to the queue.
    func add(_ call: @escaping Call) { continuation.yield(call) }

    /// Makes the queued calls until the task is cancelled. Callers must call this once.
    func run() async {
        for await call in calls { await call() }
    }
}
