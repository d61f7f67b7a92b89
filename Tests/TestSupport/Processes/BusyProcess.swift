/// A process that is always busy.
///
/// It measures time for a test that shows that other processes do not run. Any runnable process would get as much
/// processor time as this one, however busy the machine is.
package final class BusyProcess: Sendable {
    private let process: ChildProcess

    package init() throws {
        process = try ChildProcess("sh", arguments: ["-c", "while :; do :; done"])
    }

    /// Suspends until the process has run for this many clock ticks, each a hundredth of a second.
    package func run(ticks: Int) async throws {
        let start = ProcessStat(process.pid)?.ticks ?? 0
        try await eventually("\(ticks) ticks of a process that never rests") {
            (ProcessStat(process.pid)?.ticks ?? 0) >= start + ticks
        }
    }
}
