import ArgumentParser
import NightshiftAPI

/// A transfer number or a range of transfer numbers on the command line, such as `12` or `12-20`.
struct TaskRange: Hashable, Sendable {
    var ids: ClosedRange<Int64>

    static func parse(_ text: String) throws -> TaskRange {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let first = Int64(parts[0]), let last = Int64(parts[parts.count - 1]),
            first > 0, last > 0
        else { throw ValidationError("type the number of a transfer, or a range of numbers such as 12-20") }
        guard first <= last else {
            throw ValidationError("write the smaller number of a range first: \(last)-\(first)")
        }
        guard last - first < Int64(Limits.tasks) else { throw ValidationError("the range is too long") }
        return TaskRange(ids: first...last)
    }

    /// Returns the ids in ascending order, without duplicates.
    static func ids(_ ranges: [TaskRange]) -> [TaskID] {
        ranges.reduce(into: Set<Int64>()) { $0.formUnion($1.ids) }.sorted().map { TaskID($0) }
    }

    /// Returns `ids` as text in which consecutive numbers form a range, such as "3 7-9".
    static func text(_ ids: some Sequence<TaskID>) -> String {
        var runs: [ClosedRange<Int64>] = []
        for id in ids.map(\.rawValue).sorted() {
            if let last = runs.last, last.upperBound + 1 == id {
                runs[runs.count - 1] = last.lowerBound...id
            } else {
                runs.append(id...id)
            }
        }
        return runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: " ")
    }
}
