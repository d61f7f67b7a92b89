import Foundation
import NightshiftAPI

/// An error for a file that cannot be played as the device.
package struct UnreadableTrace: Error, Equatable, CustomStringConvertible {
    package let path: String
    /// A sentence that names the line, if the error has one.
    package let reason: String

    package var description: String { "\(path): \(reason)" }
}

/// The device's part of a trace: its conditions over time, in seconds.
struct DeviceTrace: Sendable {
    private let steps: [(at: Double, values: [DeviceKey: String])]

    init(path: String) throws(UnreadableTrace) {
        let trace: Trace
        do {
            trace = try Trace(parsing: String(contentsOfFile: path, encoding: .utf8))
        } catch let error as TraceSyntaxError {
            throw UnreadableTrace(path: path, reason: error.description)
        } catch {
            throw UnreadableTrace(path: path, reason: error.localizedDescription)
        }
        self.init(trace)
    }

    init(_ trace: Trace) {
        steps = trace.lines.compactMap { line in line.device.map { (line.at, $0) } }
    }

    /// The values at `seconds` after the beginning.
    func reading(at seconds: Double) -> ProviderReading {
        let values = steps.prefix { $0.at <= seconds }.reduce(into: [DeviceKey: String]()) { values, step in
            values.merge(step.values) { _, new in new }
        }
        return ProviderReading(source: .trace, isPresent: true, values: values)
    }

    /// The time of the next change after `seconds`; nil at the end.
    func next(after seconds: Double) -> Double? {
        steps.first { $0.at > seconds }?.at
    }
}
