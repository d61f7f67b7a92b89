/// A process that never rests.
///
/// It tells the time for a test that shows that others do not run: whatever could run would get as much of the
/// processors as this process does, however busy the machine is.
package final class BusyProcess: Sendable {
    private let process: ChildProcess

    package init() throws {
        process = try ChildProcess("sh", arguments: ["-c", "while :; do :; done"])
    }

    /// Suspends until it has run for so many clock ticks, each a hundredth of a second.
    package func run(ticks: Int) async throws {
        let start = ProcessStat(process.pid)?.ticks ?? 0
        try await eventually("\(ticks) ticks of a process that never rests") {
            (ProcessStat(process.pid)?.ticks ?? 0) >= start + ticks
        }
    }
}
