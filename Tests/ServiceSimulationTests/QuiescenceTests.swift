import Dispatch
import Glibc
import SimulationSupport
import Synchronization
import Testing

extension Simulations {
    /// Tests of the detector that decides when virtual time may advance.
    @Suite struct QuiescenceTests {
        /// The kinds of work that a service adds.
        private enum Work: CaseIterable {
            case job, block, thread

            func add(_ body: @escaping @Sendable () -> Void) {
                switch self {
                case .job: Task { body() }
                case .block: DispatchQueue.global().async { body() }
                case .thread: Self.start(body)
                }
            }

            private final class Body: Sendable {
                let run: @Sendable () -> Void
                init(_ run: @escaping @Sendable () -> Void) { self.run = run }
            }

            private static func start(_ body: @escaping @Sendable () -> Void) {
                var thread = pthread_t()
                let code = pthread_create(
                    &thread, nil,
                    { context in
                        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                        return nil
                    }, Unmanaged.passRetained(Body(body)).toOpaque())
                if code == 0 { pthread_detach(thread) } else { Issue.record("No thread could be started.") }
            }
        }

        @Test func `Time does not advance before jobs, blocks and threads that add each other have ended`() async {
            await #expect(processExitsWith: .success) {
                ProcessQuiescence.begin()
                for first in Work.allCases {
                    for second in Work.allCases {
                        for third in Work.allCases {
                            let ended = Atomic(0)
                            for _ in 0..<20 {
                                first.add {
                                    second.add {
                                        sched_yield()
                                        third.add {
                                            sched_yield()
                                            ended.add(1, ordering: .relaxed)
                                        }
                                    }
                                }
                            }
                            await ProcessQuiescence.wait()
                            let count = ended.load(ordering: .relaxed)
                            #expect(count == 20, "\(first), \(second), \(third)")
                        }
                    }
                }
            }
        }

        @Test func `A block may wait for a job that begins later`() async {
            await #expect(processExitsWith: .success) {
                ProcessQuiescence.begin()
                let hasEnded = Atomic(false)
                DispatchQueue.global().async {
                    let semaphore = DispatchSemaphore(value: 0)
                    Task { semaphore.signal() }
                    semaphore.wait()
                    hasEnded.store(true, ordering: .relaxed)
                }
                await ProcessQuiescence.wait()
                let blockHasEnded = hasEnded.load(ordering: .relaxed)
                #expect(blockHasEnded)
            }
        }
    }
}
