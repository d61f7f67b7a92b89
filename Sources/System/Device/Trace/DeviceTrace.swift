import Foundation
import NightshiftAPI

/// An error for a trace file that cannot be played.
package struct UnreadableTrace: Error, Equatable, CustomStringConvertible {
    package let path: String
    /// The reason, as a sentence. It contains the number of the line if there is one.
    package let reason: String

    package var description: String { "\(path): \(reason)" }
}

/// The device conditions of a trace over time, in seconds.
struct DeviceTrace: Sendable {
    private let steps: [(at: Double, values: [DeviceKey: String])]

    init(path: String) throws(UnreadableTrace) {
        let trace: Trace
        do {
            trace = try Trace(parsing: String(contentsOfFile: path, encoding: .utf8))
        } catch let error as TraceSyntaxError {
            throw UnreadableTrace(path: path, reason: error.description)
        } catch {
            throw UnreadableTrace(path: path, reason: error.systemReason)
        }
        self.init(trace)
    }

    init(_ trace: Trace) {
        steps = trace.lines.compactMap { line in line.device.map { (line.at, $0) } }
    }

    /// Returns the values at `seconds` after the beginning.
    func reading(at seconds: Double) -> ProviderReading {
        let values = steps.prefix { $0.at <= seconds }.reduce(into: [DeviceKey: String]()) { values, step in
            values.merge(step.values) { _, new in new }
        }
        return ProviderReading(source: .trace, isPresent: true, values: values)
    }

    /// Returns the time of the next change after `seconds`; nil if there are no more changes.
    func next(after seconds: Double) -> Double? {
        steps.first { $0.at > seconds }?.at
    }
}
