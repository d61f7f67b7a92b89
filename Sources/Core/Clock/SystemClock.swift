import CNightshift
import Executors
import Foundation
package import NightshiftAPI

/// The clocks of this machine.
package struct SystemClock: ServiceClock {
    private let bootID: String

    package init() {
        let text = KernelFile.text("/proc/sys/kernel/random/boot_id")
        // Without /proc, every start of the service counts as a boot. The service then trusts only synced bytes, which
        // is safe.
        bootID = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? UUID().uuidString
    }

    package func now() -> ClockReading {
        ClockReading(
            bootID: bootID, bootSeconds: Double(nightshift_boot_nanoseconds()) / 1e9,
            awakeSeconds: Double(nightshift_awake_nanoseconds()) / 1e9,
            wallSeconds: Date().timeIntervalSince1970)
    }

    package func sleep(untilBootSeconds bootSeconds: Double) async throws {
        let remaining = bootSeconds - now().bootSeconds
        guard remaining > 0 else {
            // The time has already passed. The task still yields, so that other jobs of the actor can run.
            try Task.checkCancellation()
            return await Task.yield()
        }
        try await EventThread.shared.wait(
            for: Duration(saturatingSeconds: min(remaining, Limits.longestTimeout)))
    }

    package func wallClockChanges() -> AsyncStream<Void> {
        KernelNotices.stream(of: nightshift_clock_change_descriptor()) { nightshift_take_clock_change($0) == 0 }
    }
}
