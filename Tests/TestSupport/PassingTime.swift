import Foundation

/// Suspends for `duration`. Callers give the reason why they cannot wait for an event instead. For example, only time
/// shows that no event happens, or a test needs a random time.
///
/// `ArchitectureTests` forbid sleeping anywhere else in the tests.
package func passTime(_ duration: Duration, because reason: StaticString) async throws {
    try await Task.sleep(for: duration)
}

/// Suspends until `instant`, with a reason as for ``passTime(_:because:)``.
package func passTime(until instant: ContinuousClock.Instant, because reason: StaticString) async throws {
    try await Task.sleep(until: instant)
}

/// Blocks this thread for `duration`, with a reason as for ``passTime(_:because:)``. This function is for code that
/// cannot suspend.
package func blockThread(for duration: Duration, because reason: StaticString) {
    let (seconds, attoseconds) = duration.components
    Thread.sleep(forTimeInterval: Double(seconds) + Double(attoseconds) / 1e18)
}
