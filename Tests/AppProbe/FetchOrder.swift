/// What a probe does with background fetches.
package struct FetchOrder: Sendable, Codable {
    package var answer = Answer.newData
    /// Seconds until it answers; 0 is at once, within the callback.
    package var delay: Double = 0
    /// It answers once this file is there.
    package var gate: String?

    package enum Answer: String, Sendable, Codable {
        case newData, noData, failed, never
    }

    package init() {}
}
