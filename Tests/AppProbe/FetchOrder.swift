/// An order about background fetches.
package struct FetchOrder: Sendable, Codable {
    package var answer = Answer.newData
    /// The time in seconds before the probe answers. With 0, it answers at once, within the callback.
    package var delay: Double = 0
    /// A file whose existence the answer waits for.
    package var gate: String?

    package enum Answer: String, Sendable, Codable {
        case newData, noData, failed, never
    }

    package init() {}
}
