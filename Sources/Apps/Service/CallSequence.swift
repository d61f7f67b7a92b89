/// Calls of others, made one after the other in the order in which they were decided, while whoever decides goes on.
///
/// Copies are the same sequence. What is left when the service stops is not made: those who are called find out at the next
/// start what they have missed.
struct CallSequence: Sendable {
    typealias Call = @Sendable () async -> Void

    private let calls: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation

    init() {
        (calls, continuation) = AsyncStream.makeStream()
    }

    /// Adds a call behind those that are there.
    func add(_ call: @escaping Call) { continuation.yield(call) }

    /// Makes the calls until it is cancelled. To be called once.
    func run() async {
        for await call in calls { await call() }
    }
}
