/// A task that a probe makes and resumes.
package struct TransferOrder: Sendable, Codable {
    package var url: String
    package var session: String
    package var description: String
    /// The file of an upload; nil for a download.
    package var source: String?
    /// Whether that is removed as soon as the task was resumed.
    package var removesSource: Bool?
    package var priority: Float?
    /// Seconds from when it is made: the task's earliest begin date.
    package var beginsIn: Double?
    /// Where it is made.
    package var point: Point

    package init(
        _ url: String, _ description: String, in session: String = "main", at point: Point = .launched
    ) {
        self.url = url
        self.description = description
        self.session = session
        self.point = point
    }
}
