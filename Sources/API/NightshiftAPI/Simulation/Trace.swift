import Foundation

/// The recorded or invented events of a device: the lines of a trace in order.
package struct Trace: Hashable, Sendable {
    package var lines: [TraceLine]

    package init(lines: [TraceLine]) {
        self.lines = lines
    }

    /// Parses JSON lines. Empty lines and lines that begin with `#` are ignored.
    package init(parsing text: String) throws(TraceSyntaxError) {
        lines = []
        var last = 0.0
        var isOver = false
        for (index, raw) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let row = raw.trimmingCharacters(in: .whitespaces)
            guard !row.isEmpty, !row.hasPrefix("#") else { continue }
            let number = index + 1
            guard !isOver else {
                throw TraceSyntaxError(line: number, message: "the trace has already ended; remove this line")
            }
            let line = try Self.line(row, number)
            guard line.at >= last else {
                throw TraceSyntaxError(
                    line: number, message: "'at' is earlier than in the lines above; sort the lines by 'at'")
            }
            guard line.settings == nil || lines.isEmpty else {
                throw TraceSyntaxError(line: number, message: "'trace' is only allowed in the first line")
            }
            last = line.at
            isOver = line.isEnd
            lines.append(line)
        }
    }

    private static func line(_ text: String, _ number: Int) throws(TraceSyntaxError) -> TraceLine {
        do {
            let data = Data(text.utf8)
            let line = try JSON.decode(TraceLine.self, from: data)
            guard let found = JSONCheck.finding(in: data, against: TraceShape.any) else { return line }
            throw TraceSyntaxError(line: number, message: String(found.detail.dropLast()))
        } catch let error as TraceSyntaxError {
            throw error
        } catch let mistake as TraceMistake {
            throw TraceSyntaxError(line: number, message: mistake.message)
        } catch {
            throw TraceSyntaxError(line: number, message: "the line is not a JSON object; write one object per line")
        }
    }
}

/// The shape of a line, for a check that finds only repeated keys and NUL characters. Unknown keys are found later,
/// when the line is decoded.
private struct TraceShape: JSONShape {
    var properties: [String: TraceShape]? { nil }
    var items: TraceShape? { nil }
    var isInteger: Bool { false }
    static var any: TraceShape { TraceShape() }
    var resolved: TraceShape { self }
}

/// An error in a trace, with its line.
package struct TraceSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line number, starting at 1.
    package var line: Int
    package var message: String

    package var description: String { "line \(line): \(message)." }
}
