import Foundation

/// Suspends for `duration`. Its callers say why no event can stand in its place: that nothing happens is seen only over
/// time, or a moment has to be a random one.
///
/// `ArchitectureTests` forbid sleeping anywhere else in the tests.
package func passTime(_ duration: Duration, because reason: StaticString) async throws {
    try await Task.sleep(for: duration)
}

/// Suspends until `instant`, as ``passTime(_:because:)`` does.
package func passTime(until instant: ContinuousClock.Instant, because reason: StaticString) async throws {
    try await Task.sleep(until: instant)
}

/// Blocks this thread for `duration`, as ``passTime(_:because:)`` does. For code that cannot suspend.
package func blockThread(for duration: Duration, because reason: StaticString) {
    let (seconds, attoseconds) = duration.components
    Thread.sleep(forTimeInterval: Double(seconds) + Double(attoseconds) / 1e18)
}
