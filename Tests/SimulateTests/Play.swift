import Foundation
import NightshiftAPI
import Simulation
import TestSupport

/// The result of a trace that was played, with queries about it.
struct Play {
    let outcome: Simulation.Outcome
    let start: Double

    /// - Parameter lines: the lines of a trace, without their braces.
    init(_ lines: [String], policy: BackgroundPolicy? = nil) throws {
        try self.init(text: lines.map { "{\($0)}" }.joined(separator: "\n"), policy: policy)
    }

    init(text: String, policy: BackgroundPolicy? = nil) throws {
        let trace = try Trace(parsing: text)
        start = trace.lines.first?.settings?.start ?? TraceSettings.defaultStart
        outcome = Simulation.run(trace, policy: policy)
    }

    var totals: SimulationTotals { outcome.totals }

    func entries(_ decision: Decision, _ app: String? = nil, task: Int64? = nil) -> [JournalEntry] {
        outcome.entries.filter {
            $0.decision == decision && (app == nil || $0.app?.rawValue == app)
                && (task == nil || $0.task?.rawValue == task)
        }
    }

    /// Returns the times at which this decision was made, in seconds of the trace, to the millisecond.
    func times(_ decision: Decision, _ app: String? = nil, task: Int64? = nil) -> [Double] {
        entries(decision, app, task: task).map { seconds($0) }
    }

    func seconds(_ entry: JournalEntry) -> Double {
        ((entry.time.timeIntervalSince1970 - start) * 1_000).rounded() / 1_000
    }

    /// Returns the decisions about an app in order, such as "20 appEntered suspended".
    func story(_ app: String, of decisions: Set<Decision>) -> [String] {
        outcome.entries.filter { $0.app?.rawValue == app && $0.task == nil && decisions.contains($0.decision) }.map {
            let words = [JSONText.number(seconds($0)), $0.decision.rawValue, $0.detail]
            return words.compactMap(\.self).joined(separator: " ")
        }
    }

    func totals(of app: String) -> AppTotals? { totals.apps.first { $0.app.rawValue == app } }

    func waits(_ reason: WaitReason) -> WaitTotals? { totals.waits.first { $0.reason == reason } }

    /// Returns the text of a sample trace.
    static func sample(_ name: String) throws -> String {
        try String(contentsOfFile: "\(Programs.source)/Examples/traces/\(name).jsonl", encoding: .utf8)
    }
}

enum JSONText {
    /// Formats a number of seconds. Whole seconds have no decimal point.
    static func number(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? String(Int(saturating: seconds)) : String(seconds)
    }
}
